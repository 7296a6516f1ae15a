#pragma once

#include <cstdint>
#include <optional>

#include "broker/base/clock.h"
#include "broker/engine/job.h"
#include "broker/engine/job_observer.h"
#include "broker/policy/policy.h"

namespace gearstalk {

// How a hand-out ended without the job being finished.
enum class BadEnd : std::uint8_t {
  kTimeout,    // the TTR passed
  kRunLimit,   // CAN_DO_TIMEOUT passed
  kLost,       // the holder disconnected
  kFailed,     // WORK_FAIL
  kException,  // WORK_EXCEPTION
  kReleased,
  kBuried,     // by the holder
  kReturned,   // the holder gave it back unharmed: CANT_DO, RESET_ABILITIES, the broker stops
  kTakenBack,  // an operator released it: the holder did nothing wrong
};

// What the engine asks about each of them.
struct BadEndTraits {
  BadEnd end;
  std::uint8_t word;  // of `retry_on`; 0: none names it
  Cause cause;
  bool asked_for;  // somebody waits for the answer, and hears of a refusal
};
const BadEndTraits& TraitsOf(BadEnd end);

// A bad end with what the holder asked for.
struct Ending {
  BadEnd how;
  ReportData text = {};                                  // kException: what the worker said
  std::optional<std::uint32_t> priority = std::nullopt;  // kReleased, kBuried
  std::uint32_t delay_s = 0;                             // kReleased, kTakenBack
};

// What becomes of a job.
struct Verdict {
  enum class Fate : std::uint8_t { kReady, kDelayed, kBuried, kGone, kMoved };
  Fate fate = Fate::kReady;
  Cause cause = Cause::kNone;  // what stays with the job; kNone: what it had
  bool attempt = false;        // counts as one
  bool failed = false;         // for good
  bool expired = false;
  Time wait = 0;  // kDelayed
};

// What becomes of a job whose hand-out ended badly at `now`. `policy` is that of its tube,
// `job_retries` is gearman.job_retries, `draw` an even number from 0 to 1 for the jitter. Pure.
Verdict Judge(const Job& job, const Ending& ending, Time now, const Policy& policy,
              std::uint32_t job_retries, double draw);

// What becomes of a job that waited beyond its expiry. Pure.
Verdict JudgeExpired(const Job& job, const Policy& policy);

// What becomes of a job when it fails for good under the policy that its tube has now: kGone,
// kBuried or kMoved.
Verdict::Fate FateOfFailed(const Job& job);

// Whether a job that its policy moves to the dead tube is buried where it is instead: it is dead
// already, the dead tube is its own, or the name of the dead tube is too long.
bool MoveBuries(const Job& job);

}  // namespace gearstalk
