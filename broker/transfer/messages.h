#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "broker/transfer/mark.h"

// The transfer protocol: what gearstalkctl and the broker say on a connection that begins with the
// line kGreeting. docs/transfer-protocol.md describes it.
namespace gearstalk::transfer {

inline constexpr std::string_view kGreeting = "gearstalk-transfer 1\r\n";

enum class Type : std::uint8_t {
  // From the tool. Those marked * change something and are answered together by the next kSync.
  kOpen = 1,        // Opening: begins or resumes a transfer; answered by kMark or kRefused
  kPut = 2,         // * Item
  kHold = 3,        // * Item: held in its phase
  kConfirm = 4,     // * Ids: phase 2
  kCommit = 5,      // * Ids: held jobs appear
  kDrop = 6,        // * Ids: held jobs go
  kAdvance = 7,     // * Mark, a change of it
  kTube = 8,        // * Item
  kNextId = 9,      // * Ids, one: ids below it are taken from now on
  kForget = 10,     // * Forgetting
  kSync = 11,       // empty; answered by kAck when all before it is durable
  kListHeld = 12,   // empty: kJob for each held job of the transfer, then kEnd
  kExport = 13,     // Selection: kTube and kJob for all that there is, then kEnd
  kTransfers = 14,  // empty: kMark for each transfer, then kEnd
  kHoldBack = 15,   // Selection: holds queued jobs back; kJob for each, then kEnd
  // From the broker, besides kTube and kJob.
  kJob = 32,
  kMark = 33,     // MarkOf
  kAck = 34,      // Ack
  kEnd = 35,      // End
  kRefused = 36,  // Ack: why the request is not done
};

// The fields of a frame with a record: a job, whole, or the settings of a tube. Views: they lie in
// the frame.
struct Item {
  std::string_view record{};  // as the journal stores it; the body of the job is behind the fields
  bool chooses_id = false;    // the broker does: the id in the record means nothing
  bool reserved = false;      // somebody has the job; its record says that it is ready
  // Of a put: what an outcome of it is kept by, what the mark advances to, and, if its outcome is
  // "altered", why.
  std::string_view source_key{};
  std::uint64_t settled = 0;
  std::string_view altered{};
};

void Fields(Is<Item> auto& item, auto& visit) {
  visit(1, item.record);
  visit(2, item.chooses_id);
  visit(4, item.reserved);
  visit(3, item.source_key);
  visit(6, item.settled);
  visit(5, item.altered);
}

enum class Ids : std::uint8_t { kAuto = 1, kKeep, kNew };

struct Opening {
  std::string name{}, kind{}, fingerprint{};
  Ids ids = Ids::kAuto;
  std::uint64_t smallest_id = 0;  // of the source; 0: the source has no ids
  std::uint64_t next_id = 0;      // above all that it ever gave
  std::uint64_t burials = 0;      // the highest burial of the source
  bool create = true;             // make a mark if there is none
  bool any_fingerprint = false;   // the mark's may differ
};

void Fields(Is<Opening> auto& opening, auto& visit) {
  visit(1, opening.name);
  visit(3, opening.kind);
  visit(5, opening.fingerprint);
  visit(2, opening.ids);
  visit(4, opening.smallest_id);
  visit(6, opening.next_id);
  visit(8, opening.burials);
  visit(10, opening.create);
  visit(12, opening.any_fingerprint);
}

struct IdList {
  std::vector<std::uint64_t> ids{};
};
void Fields(Is<IdList> auto& list, auto& visit) { visit(1, list.ids); }

struct Selection {
  std::vector<std::string> tubes{};   // none: all
  std::vector<std::string> except{};  // of these tubes none
  bool settings_only = false;         // kExport: no jobs
  // kHoldBack: so many jobs by id, with ids above `after`.
  std::uint64_t most = 0, after = 0;
  // kHoldBack: buried jobs are not held back; their frames have no body, and `held` is 0.
  bool list_buried = false;
  // kHoldBack: these jobs in this order, and no others.
  std::vector<std::uint64_t> ids{};

  // Whether jobs of this tube are in it.
  bool Has(std::string_view tube) const {
    const auto in = [&](const std::vector<std::string>& list) {
      return std::ranges::find(list, tube) != list.end();
    };
    return (tubes.empty() || in(tubes)) && !in(except);
  }
};
void Fields(Is<Selection> auto& selection, auto& visit) {
  visit(1, selection.tubes);
  visit(2, selection.most);
  visit(3, selection.except);
  visit(4, selection.after);
  visit(5, selection.ids);
  visit(6, selection.settings_only);
  visit(8, selection.list_buried);
}

enum class Held : std::uint8_t { kRefuse = 1, kCommit, kDrop };
struct Forgetting {
  std::string name{};
  Held held = Held::kRefuse;
};
void Fields(Is<Forgetting> auto& forgetting, auto& visit) {
  visit(1, forgetting.name);
  visit(2, forgetting.held);
}

// A transfer as the broker knows it.
struct MarkOf {
  std::string name{};
  std::string mark{};         // Mark::Encode
  std::uint64_t held = 0;     // jobs
  bool known = false;         // it was there before this opening
  bool persistent = false;    // the broker keeps jobs on a disk
  std::uint64_t next_id = 0;  // of the broker
  // What Gearman's classes are as priorities of the broker; 0: not known.
  std::uint32_t class_high = 0, class_normal = 0, class_low = 0;
};
void Fields(Is<MarkOf> auto& of, auto& visit) {
  visit(1, of.name);
  visit(3, of.mark);
  visit(2, of.held);
  visit(4, of.known);
  visit(6, of.persistent);
  visit(8, of.next_id);
  visit(10, of.class_high);
  visit(12, of.class_normal);
  visit(14, of.class_low);
}

enum class Problem : std::uint8_t {
  kNone = 0,
  kBusy,         // no memory, a full disk, a drain: try again later
  kInUse,        // another connection has the transfer
  kOtherSource,  // the mark knows another fingerprint
  kIdsTaken,     // ids cannot be kept
  kNotAllowed,   // by the rights of the connection
  kBad,          // the request makes no sense
};

struct Ack {
  Problem problem = Problem::kNone;
  std::string text{};
  std::uint64_t settled = 0;         // what the mark says now
  std::vector<std::uint64_t> ids{};  // of the jobs put or held since the last kSync; 0: joined
  std::uint64_t requests = 0;        // those done since the last kSync
};
void Fields(Is<Ack> auto& ack, auto& visit) {
  visit(2, ack.problem);
  visit(1, ack.text);
  visit(4, ack.settled);
  visit(3, ack.ids);
  visit(6, ack.requests);
}

struct End {
  std::uint64_t jobs = 0, next_id = 0;
  std::uint64_t busy = 0;  // of kHoldBack: jobs that somebody has, or waits for
};
void Fields(Is<End> auto& end, auto& visit) {
  visit(2, end.jobs);
  visit(4, end.next_id);
  visit(6, end.busy);
}

}  // namespace gearstalk::transfer
