#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"
#include "broker/transfer/mark.h"

// The transfer protocol: what gearstalkctl and the broker say on a connection that begins with the
// line kGreeting. docs/transfer-protocol.md describes it.
namespace gearstalk::transfer {

inline constexpr std::string_view kGreeting = "gearstalk-transfer 1\r\n";

enum class Type : std::uint8_t {
  // From the tool. Those marked * change something and are answered together by the next kSync.
  kOpen = 1,        // Opening: begins or resumes a transfer; answered by kMark or kRefused
  kPut = 2,         // * Job
  kHold = 3,        // * Job: held in its phase
  kConfirm = 4,     // * Ids: phase 2
  kCommit = 5,      // * Ids: held jobs appear
  kDrop = 6,        // * Ids: held jobs go
  kAdvance = 7,     // * Mark, a change of it
  kTube = 8,        // * Tube
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

enum class JobState : std::uint8_t { kReady = 1, kDelayed = 2, kBuried = 3, kReserved = 4 };

// A job, whole. Views: they lie in the frame.
struct Job {
  std::uint64_t id = 0;  // 0 in a put: the broker chooses
  JobState state = JobState::kReady;
  std::uint32_t priority = 0, ttr_s = 0, delay_s = 0;
  Time due = 0, created = 0;
  std::uint64_t burial = 0;
  std::uint32_t reserves = 0, timeouts = 0, releases = 0, buries = 0, kicks = 0, lost_tries = 0;
  bool keep_on_failure = false, unique_is_body = false;
  std::string_view tube{}, unique{}, reducer{};
  std::string_view body{};        // behind the fields, as it is
  std::uint32_t held = 0;         // phase, 0: not held
  std::uint64_t source_id = 0;    // of a held job
  std::string_view source_key{};  // what an outcome of it is kept by
  std::uint64_t settled = 0;      // what the mark advances to with this put
  std::string_view altered = {};  // not empty: its outcome is "altered", and why
  // What policies know of it.
  std::uint32_t attempts = 0, cause = 0;  // cause: Record::Cause
  bool waits = false;                     // kDelayed: before its next attempt
  Time ended = 0, expires = 0;
  std::string_view cause_text{}, origin{};
};

void Fields(Is<Job> auto& job, auto& visit) {
  visit(2, job.id);
  visit(4, job.state);
  visit(6, job.priority);
  visit(8, job.ttr_s);
  visit(10, job.delay_s);
  visit(12, job.due);
  visit(14, job.created);
  visit(16, job.burial);
  visit(18, job.reserves);
  visit(20, job.timeouts);
  visit(22, job.releases);
  visit(24, job.buries);
  visit(26, job.kicks);
  visit(28, job.lost_tries);
  visit(30, job.keep_on_failure);
  visit(32, job.unique_is_body);
  visit(34, job.held);
  visit(36, job.source_id);
  visit(38, job.settled);
  visit(1, job.tube);
  visit(3, job.unique);
  visit(5, job.reducer);
  visit(7, job.source_key);
  visit(9, job.altered);
  visit(40, job.attempts);
  visit(42, job.cause);
  visit(44, job.waits);
  visit(46, job.ended);
  visit(48, job.expires);
  visit(11, job.cause_text);
  visit(13, job.origin);
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

struct Tube {
  std::string tube{};
  Time pause_until = 0;
  std::uint32_t pause_s = 0;
  std::int64_t high = 0, normal = 0, low = 0;  // maxqueue
  bool created_function = false;
};
void Fields(Is<Tube> auto& tube, auto& visit) {
  visit(1, tube.tube);
  visit(2, tube.pause_until);
  visit(4, tube.pause_s);
  visit(6, tube.high);
  visit(8, tube.normal);
  visit(10, tube.low);
  visit(12, tube.created_function);
}

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
