// The requests of the transfer protocol. Each decodes, makes its calls of the engine's Transfers,
// and notes what came of them.

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "admin/move/session/session.h"
#include "broker/base/slices.h"

namespace gearstalk::transfer {
namespace {

// A large body of a job in the engine is sent without a copy.
void SendJob(TransferSession& session, const Record& job, const Job* owner) {
  const bool reserved = owner != nullptr && owner->state() == JobState::kReserved;
  std::string head;
  session.frames().AppendHead(head, Type::kJob, job, {.reserved = reserved});
  session.out().Append(head);
  if (owner != nullptr && job.body.size() >= Output::kShareFrom) {
    return session.out().AppendShared(job.body, Pin(Job::Ref(const_cast<Job&>(*owner))));
  }
  session.out().Append(job.body);
}

// Otherwise refuses the request.
bool MayConsume(TransferSession& session, std::string_view what, std::string_view tube) {
  if (session.May(right::kConsume, tube)) return true;
  session.Refuse(Problem::kNotAllowed,
                 fmt::format("{} the rights admin and consume on tube {}", what, tube));
  return false;
}

void SendSettings(TransferSession& session, const Tube& tube) {
  const Record record{.kind = Record::Kind::kTube,
                      .tube = tube.name(),
                      .settings = session.transfers().SettingsOf(tube)};
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
  // Reserved, behind a reserved one in its line, or a client waits for it.
  if (change.code == Code::kNotFound) return Taken::kBusy;
  if (!change.ok()) {
    session.Refuse(Problem::kBusy, "the journal takes nothing");
    return Taken::kRefused;
  }
  session.out().HoldUntil(change.lsn);
  SendJob(session, session.transfers().NextHeld(id - 1)->record.View(), nullptr);
  return Taken::kJob;
}

bool MayWaitFor(TransferSession& session, const BodyQuery& body) {
  if (!body.Late(session.now())) return true;
  session.Refuse(Problem::kBusy, "a body cannot be read from the disk now");
  return false;
}

// --- Requests that take long. The session outlives the work.

// Tries an act on a job and notes its result. False: the body that the job is compared with is
// still being read; try again in the next slice.
bool TryAct(TransferSession& session, ComparisonPtr& compared, bool puts, auto&& act) {
  if (Waits(compared)) return false;
  const Transfers::Change change = act(compared);
  if (Waits(compared)) return false;
  session.Note(change, puts);
  return true;
}

// Confirms, commits or drops held jobs, up to one that fails.
using IdAct = Transfers::Change (*)(TransferSession&, std::uint64_t id, ComparisonPtr& compared);
Slices ActOnIds(TransferSession& session, IdList list, IdAct act) {
  std::size_t steps = 0;
  for (const std::uint64_t id : list.ids) {
    if (session.failed()) break;
    if (++steps % kSliceItems == 0) co_await NextSlice();
    const auto end = [&](ComparisonPtr& compared) { return act(session, id, compared); };
    ComparisonPtr compared;
    while (!TryAct(session, compared, false, end)) co_await NextSlice();
  }
}

// A job that is compared first with one whose body is read.
Slices PutWhenCompared(TransferSession& session, OwnedRecord job, std::string key, Mark change,
                       ComparisonPtr compared) {
  const auto put = [&](ComparisonPtr& of) {
    return session.transfers().Put(session.now(), session.transfer(), job.View(), key, change, &of);
  };
  while (!TryAct(session, compared, true, put)) co_await NextSlice();
}

// Its held jobs first, then the mark, so that after a crash in between it can be repeated.
Slices ForgetTransfer(TransferSession& session, Forgetting forgetting) {
  Transfers& transfers = session.transfers();
  JobId last = 0;
  for (std::size_t steps = 1; forgetting.held != Held::kRefuse; ++steps) {
    if (steps % kSliceItems == 0) co_await NextSlice();
    const Transfers::Held* const held = transfers.NextHeld(last);
    if (held == nullptr) break;
    last = held->record.View().id;
    if (held->transfer != forgetting.name) continue;
    const auto end = [&](ComparisonPtr& compared) {
      return forgetting.held == Held::kCommit
                 ? transfers.Commit(session.now(), forgetting.name, last, &compared)
                 : transfers.Drop(forgetting.name, last);
    };
    ComparisonPtr compared;
    while (!TryAct(session, compared, false, end)) co_await NextSlice();
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
    last = held->record.View().id;
    if (held->transfer != session.transfer()) continue;
    ++end.jobs;
    SendJob(session, held->record.View(), nullptr);
  }
  end.next_id = session.engine().next_id();
  session.Send(Type::kEnd, end);
}

// Settings of tubes, then durable jobs by id. Jobs made after it began are not in it: it ends.
Slices SendAll(TransferSession& session, Selection selection) {
  Engine& engine = session.engine();
  const JobId first_new = engine.next_id();
  std::size_t steps = 0;
  for (std::uint64_t last = 0; const Tube* const tube = engine.NextTube(last);) {
    last = tube->id();
    if (selection.Has(tube->name())) SendSettings(session, *tube);
    if (++steps % kSliceItems == 0) co_await NextSlice();
  }
  End end;
  BodyQuery body(session.engine().bodies());
  for (JobId last = 0; !selection.settings_only; ++steps) {
    if (steps % kSliceItems == 0) co_await NextSlice();
    const Job* job = engine.NextJob(last);
    if (job == nullptr || job->id() >= first_new) break;
    last = job->id();
    if (!job->durable || !selection.Has(job->tube().name())) continue;
    while (!body.Knows(session.now(), *job)) {
      if (!MayWaitFor(session, body)) co_return;
      co_await NextSlice();
      job = engine.Find(last);
      if (job == nullptr) break;
    }
    if (job == nullptr || !job->has_body() || !selection.Has(job->tube().name())) continue;
    const std::string& tube = job->tube().name();
    if (!MayConsume(session, "export needs", tube)) co_return;
    Record record;
    session.transfers().Describe(*job, record);
    SendJob(session, record, job);
    ++end.jobs;
  }
  end.next_id = engine.next_id();
  session.Send(Type::kEnd, end);
}

// Takes jobs that nobody has reserved out of their queues: by id, or those that the selection
// names in its order.
Slices HoldBackJobs(TransferSession& session, Selection selection) {
  const Engine& engine = session.engine();
  BodyQuery body(session.engine().bodies());
  const bool named = !selection.ids.empty();
  End end{.jobs = 0, .next_id = selection.after};
  for (std::size_t place = 0; named ? place < selection.ids.size() : end.jobs < selection.most;) {
    const Job* job = named ? engine.Find(selection.ids[place]) : engine.NextJob(end.next_id);
    if (!named && job == nullptr) break;
    end.next_id = named ? selection.ids[place] : job->id();
    const auto selected = [&] { return job != nullptr && selection.Has(job->tube().name()); };
    while (selected() && !body.Knows(session.now(), *job)) {
      if (!MayWaitFor(session, body)) co_return;
      co_await NextSlice();
      job = engine.Find(end.next_id);
    }
    if (selected() && !job->has_body()) {
      ++end.busy;  // its body is damaged
    } else if (selected()) {
      const Taken taken = TakeBack(session, *job, selection.list_buried);
      if (taken == Taken::kRefused) co_return;
      ++(taken == Taken::kJob ? end.jobs : end.busy);
    }
    if (++place % kSliceItems == 0) co_await NextSlice();
  }
  session.Send(Type::kEnd, end);
}

template <typename Message>
bool Read(TransferSession& session, const Frame& frame, Message& message) {
  if (ReadFields(frame.fields, message)) return true;
  session.Fail(Problem::kBad, "a message that cannot be read");
  return false;
}

void Open(TransferSession& session, const Frame& frame) {
  Opening opening;
  opening.create = false;  // absent on the wire is false
  if (!ReadFields(frame.fields, opening) || opening.name.empty()) {
    return session.Refuse(Problem::kBad, "a transfer without a name");
  }
  if (!session.Use(opening.name)) {
    return session.Refuse(Problem::kInUse,
                          "another connection works on the transfer " + opening.name);
  }
  const Mark* known = session.transfers().Find(opening.name);
  if (known != nullptr) {
    const bool same = opening.any_fingerprint || known->fingerprint == opening.fingerprint;
    if (!same) {
      return session.Refuse(Problem::kOtherSource, "the transfer " + opening.name +
                                                       " was of another content of the source");
    }
    session.SendMark(opening.name, *known, true);
    return;
  }
  Mark mark{.kind = opening.kind, .fingerprint = opening.fingerprint};
  if (!opening.create) {
    session.SendMark(opening.name, mark, false);
    return;
  }
  const bool can_keep = opening.smallest_id > 0 &&
                        session.transfers().CanKeepIds(opening.smallest_id, opening.next_id);
  if (opening.ids == Ids::kKeep && !can_keep) {
    return session.Refuse(Problem::kIdsTaken, "the broker has given out ids up to " +
                                                  std::to_string(session.engine().next_id() - 1) +
                                                  ": old ids cannot be kept, use --ids new");
  }
  mark.keep_ids = can_keep && opening.ids != Ids::kNew;
  const Transfers::Change begun = session.transfers().Begin(
      opening.name, mark, mark.keep_ids ? opening.next_id : 0, opening.burials);
  if (!begun.ok()) {
    return session.Refuse(Problem::kBusy, "the journal takes nothing: " +
                                              session.engine().journal().Health().message());
  }
  session.out().HoldUntil(begun.lsn);
  session.SendMark(opening.name, *session.transfers().Find(opening.name), false);
}

// A job or a tube, and whether the connection has the right to change its tube.
bool Read(TransferSession& session, const Frame& frame, Record& record, Item& item) {
  if (Status read = session.frames().Read(frame, record, item); !read.ok()) {
    session.Fail(Problem::kBad, read.message());
    return false;
  }
  const bool is_job = record.kind == Record::Kind::kPut;
  if (session.May(is_job ? right::kProduce : right::kAdmin, record.tube)) return true;
  session.Fail(Problem::kNotAllowed,
               fmt::format("transfers need the rights admin and {} on tube {}",
                           is_job ? "produce" : "admin", record.tube));
  return false;
}

void Put(TransferSession& session, const Frame& frame) {
  Record job;
  Item item;
  if (!Read(session, frame, job, item)) return;
  Mark change{.settled = item.settled};
  if (!item.altered.empty()) {
    change.jobs.push_back({.key = std::string(item.source_key),
                           .tube = std::string(job.tube),
                           .job = 0,
                           .kind = OutcomeKind::kAltered,
                           .text = std::string(item.altered)});
  }
  ComparisonPtr compared;
  const auto put = [&](ComparisonPtr& of) {
    return session.transfers().Put(session.now(), session.transfer(), job, item.source_key, change,
                                   &of);
  };
  if (TryAct(session, compared, true, put)) return;
  session.Begin(PutWhenCompared(session, OwnedRecord(job), std::string(item.source_key),
                                std::move(change), std::move(compared)));
}

void Hold(TransferSession& session, const Frame& frame) {
  Record job;
  Item item;
  if (!Read(session, frame, job, item)) return;
  if (job.transfer.held == Record::Held::kNot) {
    return session.Fail(Problem::kBad, "a job held in no phase");
  }
  session.Note(session.transfers().Hold(session.transfer(), job), true);
}

// A long list is worked off in slices.
template <IdAct kAct>
void ForEachId(TransferSession& session, const Frame& frame) {
  constexpr std::size_t kFew = 16;  // for which the next request need not wait for the next turn
  IdList list;
  if (!Read(session, frame, list)) return;
  const bool few = list.ids.size() <= kFew;
  Slices work = ActOnIds(session, std::move(list), kAct);
  if (!few || work.Advance()) session.Begin(std::move(work));
}

Transfers::Change Confirm(TransferSession& session, std::uint64_t id, ComparisonPtr&) {
  return session.transfers().Confirm(session.transfer(), id);
}

Transfers::Change Commit(TransferSession& session, std::uint64_t id, ComparisonPtr& compared) {
  return session.transfers().Commit(session.now(), session.transfer(), id, &compared);
}

Transfers::Change Drop(TransferSession& session, std::uint64_t id, ComparisonPtr&) {
  return session.transfers().Drop(session.transfer(), id);
}

Transfers::Change RaiseNextId(TransferSession& session, std::uint64_t id, ComparisonPtr&) {
  return session.transfers().RaiseNextId(id);
}

void Advance(TransferSession& session, const Frame& frame) {
  Mark change;
  if (!Read(session, frame, change)) return;
  change.whole = false;
  session.Note(session.transfers().Advance(session.transfer(), std::move(change)));
}

void SetTube(TransferSession& session, const Frame& frame) {
  Record tube;
  Item item;
  if (!Read(session, frame, tube, item)) return;
  session.UseTube(std::string(tube.tube));
  session.Note(session.transfers().SetTube(tube));
}

void Forget(TransferSession& session, const Frame& frame) {
  Forgetting forgetting;
  if (!Read(session, frame, forgetting)) return;
  if (!session.Use(forgetting.name)) {
    return session.Fail(Problem::kInUse, "another connection works on the transfer");
  }
  session.Begin(ForgetTransfer(session, std::move(forgetting)));
}

void Sync(TransferSession& session, const Frame& /*frame*/) { session.Answer(); }

template <Slices (*kWalk)(TransferSession&)>
void Walk(TransferSession& session, const Frame& /*frame*/) {
  session.Begin(kWalk(session));
}

template <Slices (*kWalk)(TransferSession&, Selection)>
void WalkSelection(TransferSession& session, const Frame& frame) {
  Selection selection;
  if (!ReadFields(frame.fields, selection)) return session.Refuse(Problem::kBad, "no selection");
  session.Begin(kWalk(session, std::move(selection)));
}

struct Request {
  Type type;
  bool changes;  // not done after a failure, up to the next kSync
  void (*handler)(TransferSession&, const Frame&);
  bool in_transfer = true;  // needs a kOpen before it
};

constexpr std::array kRequests = {
    Request{Type::kOpen, false, Open, false},
    Request{Type::kPut, true, Put},
    Request{Type::kHold, true, Hold},
    Request{Type::kConfirm, true, ForEachId<Confirm>},
    Request{Type::kCommit, true, ForEachId<Commit>},
    Request{Type::kDrop, true, ForEachId<Drop>},
    Request{Type::kAdvance, true, Advance},
    Request{Type::kTube, true, SetTube},
    Request{Type::kNextId, true, ForEachId<RaiseNextId>},
    Request{Type::kForget, true, Forget, false},
    Request{Type::kSync, false, Sync, false},
    Request{Type::kListHeld, false, Walk<SendHeld>},
    Request{Type::kExport, false, WalkSelection<SendAll>, false},
    Request{Type::kTransfers, false, Walk<SendMarks>, false},
    Request{Type::kHoldBack, false, WalkSelection<HoldBackJobs>},
};

}  // namespace

void RunRequest(TransferSession& session, const Frame& frame) {
  for (const Request& request : kRequests) {
    if (request.type != frame.type) continue;
    if (request.changes && session.failed()) return;
    if (request.in_transfer && session.transfer().empty()) {
      return session.Refuse(Problem::kBad, "no transfer is open");
    }
    return request.handler(session, frame);
  }
  session.Refuse(Problem::kBad, "an unknown request");
}

}  // namespace gearstalk::transfer
