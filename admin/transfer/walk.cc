#include "admin/transfer/walk.h"

#include <fmt/format.h>

#include <algorithm>

namespace gearstalk::transfer {
namespace {

void Unref(void* job) { JobUnref()(static_cast<Job*>(job)); }

// A large body of a job in the engine is sent without a copy.
void SendJob(TransferSession& session, const Record& job, const Job* owner) {
  const bool reserved = owner != nullptr && owner->state() == JobState::kReserved;
  std::string head;
  session.frames().AppendHead(head, Type::kJob, job, {.reserved = reserved});
  session.out().Append(head);
  if (owner != nullptr && job.body.size() >= Output::kShareFrom) {
    if (JobPtr shared = Job::Ref(const_cast<Job&>(*owner))) {
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

// Otherwise refuses the request.
bool MayConsume(TransferSession& session, std::string_view what, std::string_view tube) {
  if (session.May(right::kConsume, tube)) return true;
  session.Refuse(Problem::kNotAllowed,
                 fmt::format("{} the rights admin and consume on tube {}", what, tube));
  return false;
}

void SendSettings(TransferSession& session, const Tube& tube) {
  Record record;
  record.kind = Record::Kind::kTube;
  record.tube = tube.name();
  record.settings = session.transfers().SettingsOf(tube);
  if (record.settings == TubeSettings{}) return;
  std::string frame;
  session.frames().Append(frame, Type::kTube, record);
  session.out().Append(frame);
}

enum class Taken : std::uint8_t { kJob, kBusy, kRefused };

// Holds a job back and sends it, or only sends it.
Taken TakeBack(TransferSession& session, const Job& job, bool list_buried) {
  if (!MayConsume(session, "transfers need", job.tube().name())) return Taken::kRefused;
  if (list_buried && job.state() == JobState::kBuried) {
    Record record;
    session.transfers().Describe(job, record);
    record.body = {};
    SendJob(session, record, nullptr);
    return Taken::kJob;
  }
  const JobId id = job.id();
  const Transfers::Change change = session.transfers().HoldBack(session.transfer(), id);
  if (change.code == Code::kNotFound) return Taken::kBusy;  // reserved, or a client waits for it
  if (!change.ok()) {
    session.Refuse(Problem::kBusy, "the journal takes nothing");
    return Taken::kRefused;
  }
  session.out().HoldUntil(change.lsn);
  SendJob(session, session.transfers().NextHeld(id - 1)->record.View(), nullptr);
  return Taken::kJob;
}

}  // namespace

Slices ActOnIds(TransferSession& session, IdList list, IdAct act) {
  std::size_t steps = 0;
  for (const std::uint64_t id : list.ids) {
    if (session.failed()) break;
    if (++steps % kSliceItems == 0) co_await NextSlice();
    session.Note(act(session, id));
  }
}

Slices ForgetTransfer(TransferSession& session, Forgetting forgetting) {
  Transfers& transfers = session.transfers();
  JobId last = 0;
  for (std::size_t steps = 1; forgetting.held != Held::kRefuse; ++steps) {
    if (steps % kSliceItems == 0) co_await NextSlice();
    const Transfers::Held* const held = transfers.NextHeld(last);
    if (held == nullptr) break;
    last = held->record.values().id;
    if (held->transfer != forgetting.name) continue;
    session.Note(forgetting.held == Held::kCommit
                     ? transfers.Commit(session.now(), forgetting.name, last)
                     : transfers.Drop(forgetting.name, last));
    if (session.failed()) co_return;
  }
  session.Note(transfers.Forget(forgetting.name));
}

Slices SendMarks(TransferSession& session) {
  constexpr std::size_t kSent = 64 * 1024;  // bytes in a slice, about; a mark may have more
  std::string name;
  std::size_t sent = 0;
  while (const Mark* const mark = session.transfers().NextMark(name)) {
    sent += session.SendMark(name, *mark, true);
    if (sent < kSent) continue;
    co_await NextSlice();
    sent = 0;
  }
  session.Send(Type::kEnd, End{});
}

Slices SendHeld(TransferSession& session) {
  JobId last = 0;
  End end;
  for (std::size_t steps = 1;; ++steps) {
    if (steps % kSliceItems == 0) co_await NextSlice();
    const Transfers::Held* const held = session.transfers().NextHeld(last);
    if (held == nullptr) break;
    last = held->record.values().id;
    if (held->transfer != session.transfer()) continue;
    ++end.jobs;
    SendJob(session, held->record.View(), nullptr);
  }
  end.next_id = session.engine().next_id();
  session.Send(Type::kEnd, end);
}

Slices SendAll(TransferSession& session, Selection selection) {
  Engine& engine = session.engine();
  const JobId first_new = engine.next_id();
  std::size_t steps = 0;
  for (std::uint64_t last = 0; const Tube* const tube = engine.NextTube(last);) {
    last = tube->id();
    if (Has(selection, tube->name())) SendSettings(session, *tube);
    if (++steps % kSliceItems == 0) co_await NextSlice();
  }
  End end;
  for (JobId last = 0; !selection.settings_only; ++steps) {
    if (steps % kSliceItems == 0) co_await NextSlice();
    const Job* const job = engine.NextJob(last);
    if (job == nullptr || job->id() >= first_new) break;
    last = job->id();
    const std::string& tube = job->tube().name();
    if (!job->durable() || !Has(selection, tube)) continue;
    if (!MayConsume(session, "export needs", tube)) co_return;
    Record record;
    session.transfers().Describe(*job, record);
    SendJob(session, record, job);
    ++end.jobs;
  }
  end.next_id = engine.next_id();
  session.Send(Type::kEnd, end);
}

Slices HoldBackJobs(TransferSession& session, Selection selection) {
  const Engine& engine = session.engine();
  const bool named = !selection.ids.empty();
  End end{.jobs = 0, .next_id = selection.after};
  for (std::size_t place = 0; named ? place < selection.ids.size() : end.jobs < selection.most;) {
    const Job* const job = named ? engine.Find(selection.ids[place]) : engine.NextJob(end.next_id);
    if (!named && job == nullptr) break;
    end.next_id = named ? selection.ids[place] : job->id();
    if (job != nullptr && Has(selection, job->tube().name())) {
      const Taken taken = TakeBack(session, *job, selection.list_buried);
      if (taken == Taken::kRefused) co_return;
      ++(taken == Taken::kJob ? end.jobs : end.busy);
    }
    if (++place % kSliceItems == 0) co_await NextSlice();
  }
  session.Send(Type::kEnd, end);
}

}  // namespace gearstalk::transfer
