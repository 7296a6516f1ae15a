// The requests of the transfer protocol. Each decodes, makes its calls of the engine's Transfers,
// and notes what came of them.

#include "admin/transfer/requests.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "admin/transfer/walk.h"

namespace gearstalk::transfer {
namespace {

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
  session.Note(session.transfers().Put(session.now(), session.transfer(), job, item.source_key,
                                       std::move(change)),
               true);
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
void ForEachId(TransferSession& session, const Frame& frame, IdAct act) {
  constexpr std::size_t kFew = 16;  // for which the next request need not wait for the next turn
  IdList list;
  if (!Read(session, frame, list)) return;
  const bool few = list.ids.size() <= kFew;
  Slices work = ActOnIds(session, std::move(list), act);
  if (!few || work.Advance()) session.Begin(std::move(work));
}

void Confirm(TransferSession& session, const Frame& frame) {
  ForEachId(session, frame, [](TransferSession& of, std::uint64_t id) {
    return of.transfers().Confirm(of.transfer(), id);
  });
}

void Commit(TransferSession& session, const Frame& frame) {
  ForEachId(session, frame, [](TransferSession& of, std::uint64_t id) {
    return of.transfers().Commit(of.now(), of.transfer(), id);
  });
}

void Drop(TransferSession& session, const Frame& frame) {
  ForEachId(session, frame, [](TransferSession& of, std::uint64_t id) {
    return of.transfers().Drop(of.transfer(), id);
  });
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

void NextId(TransferSession& session, const Frame& frame) {
  ForEachId(session, frame,
            [](TransferSession& of, std::uint64_t id) { return of.transfers().RaiseNextId(id); });
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

void ListHeld(TransferSession& session, const Frame& /*frame*/) {
  session.Begin(SendHeld(session));
}

void Export(TransferSession& session, const Frame& frame) {
  Selection selection;
  if (!ReadFields(frame.fields, selection)) return session.Refuse(Problem::kBad, "no selection");
  session.Begin(SendAll(session, std::move(selection)));
}

void ListTransfers(TransferSession& session, const Frame& /*frame*/) {
  session.Begin(SendMarks(session));
}

void HoldBack(TransferSession& session, const Frame& frame) {
  Selection selection;
  if (!ReadFields(frame.fields, selection)) return session.Refuse(Problem::kBad, "no selection");
  session.Begin(HoldBackJobs(session, std::move(selection)));
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
    Request{Type::kConfirm, true, Confirm},
    Request{Type::kCommit, true, Commit},
    Request{Type::kDrop, true, Drop},
    Request{Type::kAdvance, true, Advance},
    Request{Type::kTube, true, SetTube},
    Request{Type::kNextId, true, NextId},
    Request{Type::kForget, true, Forget, false},
    Request{Type::kSync, false, Sync, false},
    Request{Type::kListHeld, false, ListHeld},
    Request{Type::kExport, false, Export, false},
    Request{Type::kTransfers, false, ListTransfers, false},
    Request{Type::kHoldBack, false, HoldBack},
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
