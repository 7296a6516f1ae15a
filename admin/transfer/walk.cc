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
  const auto in = [&](const std::vector<std::string>& tubes) {
    return std::find(tubes.begin(), tubes.end(), tube) != tubes.end();
  };
  return (selection.tubes.empty() || in(selection.tubes)) && !in(selection.except);
}

}  // namespace

bool IdWalk::Advance(TransferSession& session) {
  for (int step = 0; step < kSlice && done_ < ids_.size() && !session.failed(); ++step) {
    session.Note(act_(session, ids_[done_++]));
  }
  return done_ == ids_.size() || session.failed();
}

bool ForgetWalk::Advance(TransferSession& session) {
  Transfers& transfers = session.transfers();
  for (int step = 0; forgetting_.held != Held::kRefuse; ++step) {
    const Transfers::Held* const held = transfers.NextHeld(last_);
    if (held == nullptr) break;
    if (step == kSlice) return false;
    last_ = held->record.values().id;
    if (held->transfer != forgetting_.name) continue;
    session.Note(forgetting_.held == Held::kCommit
                     ? transfers.Commit(session.now(), forgetting_.name, last_)
                     : transfers.Drop(forgetting_.name, last_));
    if (session.failed()) return true;
  }
  session.Note(transfers.Forget(forgetting_.name));
  return true;
}

bool TransferWalk::Advance(TransferSession& session) {
  constexpr std::size_t kSent = 64 * 1024;  // bytes in a slice, about; a mark may have more
  for (std::size_t sent = 0; sent < kSent;) {
    const Mark* const mark = session.transfers().NextMark(name_);
    if (mark == nullptr) {
      session.Send(Type::kEnd, End{});
      return true;
    }
    sent += session.SendMark(name_, *mark, true);
  }
  return false;
}

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
    const gearstalk::Job* const job =
        selection_.settings_only ? nullptr : session.engine().NextJob(last_);
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

bool HoldBackWalk::Next(const Engine& engine, const gearstalk::Job*& job) {
  if (!selection_.ids.empty()) {
    if (place_ == selection_.ids.size()) return false;
    last_ = selection_.ids[place_++];
    job = engine.Find(last_);
    return true;
  }
  job = jobs_ < selection_.most ? engine.NextJob(last_) : nullptr;
  if (job != nullptr) last_ = job->id();
  return job != nullptr;
}

bool HoldBackWalk::Take(TransferSession& session, const gearstalk::Job& job) {
  const std::string& tube = job.tube().name();
  if (!session.May(right::kConsume, tube)) {
    session.Refuse(Problem::kNotAllowed,
                   "transfers need the rights admin and consume on tube " + tube);
    return false;
  }
  if (selection_.list_buried && job.state() == gearstalk::JobState::kBuried) {
    Record record;
    session.transfers().Describe(job, record);
    record.body = {};
    ++jobs_;
    SendJob(session, FromRecord(record), nullptr);
    return true;
  }
  const Transfers::Change change = session.transfers().HoldBack(session.transfer(), last_);
  if (change.code == Code::kNotFound) {  // reserved, or a client waits for it
    ++busy_;
    return true;
  }
  if (!change.ok()) {
    session.Refuse(Problem::kBusy, "the journal takes nothing");
    return false;
  }
  ++jobs_;
  session.out().HoldUntil(change.lsn);
  SendJob(session, FromRecord(session.transfers().NextHeld(last_ - 1)->record.View()), nullptr);
  return true;
}

bool HoldBackWalk::Advance(TransferSession& session) {
  for (int step = 0; step < kSlice; ++step) {
    const gearstalk::Job* job = nullptr;
    if (!Next(session.engine(), job)) {
      session.Send(Type::kEnd, End{.jobs = jobs_, .next_id = last_, .busy = busy_});
      return true;
    }
    if (job == nullptr || !Has(selection_, job->tube().name())) continue;
    if (!Take(session, *job)) return true;
  }
  return false;
}

}  // namespace gearstalk::transfer
