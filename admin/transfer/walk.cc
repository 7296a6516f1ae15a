#include "admin/transfer/walk.h"

#include <algorithm>

#include "admin/transfer/convert.h"

namespace gearstalk::transfer {
namespace {

void Unref(void* job) { JobUnref()(static_cast<gearstalk::Job*>(job)); }

// A large body of a job in the engine is sent without a copy.
void SendJob(TransferSession& session, const Job& job, const gearstalk::Job* owner) {
  std::string fields, head;
  AppendFields(job, fields);
  AppendHead(head, Type::kJob, fields, job.body.size());
  session.out().Append(head);
  if (owner != nullptr && job.body.size() >= Output::kShareFrom) {
    if (JobPtr shared = gearstalk::Job::Ref(const_cast<gearstalk::Job&>(*owner))) {
      return session.out().AppendShared(job.body, Pin(shared.release(), Unref));
    }
  }
  session.out().Append(job.body);
}

bool Has(const Selection& selection, std::string_view tube) {
  return selection.tubes.empty() ||
         std::find(selection.tubes.begin(), selection.tubes.end(), tube) != selection.tubes.end();
}

}  // namespace

bool HeldWalk::Advance(TransferSession& session) {
  for (int step = 0; step < kSlice; ++step) {
    const Transfers::Held* held = session.transfers().NextHeld(last_);
    if (held == nullptr) {
      session.Send(Type::kEnd, End{.jobs = jobs_, .next_id = session.engine().next_id()});
      return true;
    }
    last_ = held->record.values().id;
    if (held->transfer != session.transfer()) continue;
    ++jobs_;
    SendJob(session, FromRecord(held->record.View()), nullptr);
  }
  return false;
}

bool ExportWalk::Selected(std::string_view tube) const { return Has(selection_, tube); }

void ExportWalk::Tubes(TransferSession& session) {
  for (int step = 0; step < kSlice; ++step) {
    const gearstalk::Tube* const tube = session.engine().NextTube(tube_);
    tubes_done_ = tube == nullptr;
    if (tubes_done_) return;
    tube_ = tube->id();
    if (!Selected(tube->name())) continue;
    const TubeSettings settings = session.transfers().SettingsOf(*tube);
    if (settings == TubeSettings{}) continue;
    session.Send(Type::kTube, FromSettings(tube->name(), settings));
  }
}

bool ExportWalk::Advance(TransferSession& session) {
  if (!tubes_done_) {
    Tubes(session);
    return false;
  }
  for (int step = 0; step < kSlice; ++step) {
    const gearstalk::Job* const job = session.engine().NextJob(last_);
    if (job == nullptr || job->id() >= end_) {
      session.Send(Type::kEnd, End{.jobs = jobs_, .next_id = session.engine().next_id()});
      return true;
    }
    last_ = job->id();
    const std::string& tube = job->tube().name();
    if (!job->durable() || !Selected(tube)) continue;
    if (!session.May(right::kConsume, tube)) {
      session.Refuse(Problem::kNotAllowed,
                     "export needs the rights admin and consume on tube " + tube);
      return true;
    }
    ++jobs_;
    Record record;
    session.transfers().Describe(*job, record);
    Job whole = FromRecord(record);
    if (job->state() == gearstalk::JobState::kReserved) whole.state = JobState::kReserved;
    SendJob(session, whole, job);
  }
  return false;
}

bool HoldBackWalk::Advance(TransferSession& session) {
  for (int step = 0; step < kSlice; ++step) {
    const gearstalk::Job* const job = session.engine().NextJob(last_);
    if (job == nullptr || jobs_ >= selection_.most) {
      session.Send(Type::kEnd, End{.jobs = jobs_, .next_id = last_, .busy = busy_});
      return true;
    }
    last_ = job->id();
    const std::string& tube = job->tube().name();
    if (!Has(selection_, tube)) continue;
    if (!session.May(right::kConsume, tube)) {
      session.Refuse(Problem::kNotAllowed,
                     "transfers need the rights admin and consume on tube " + tube);
      return true;
    }
    const Transfers::Change change = session.transfers().HoldBack(session.transfer(), last_);
    if (change.code == Code::kNotFound) {  // reserved, or a client waits for it
      ++busy_;
      continue;
    }
    if (!change.ok()) {
      session.Refuse(Problem::kBusy, "the journal takes nothing");
      return true;
    }
    ++jobs_;
    session.out().HoldUntil(change.lsn);
    SendJob(session, FromRecord(session.transfers().NextHeld(last_ - 1)->record.View()), nullptr);
  }
  return false;
}

}  // namespace gearstalk::transfer
