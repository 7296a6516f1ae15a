#include "broker/engine/verdict.h"

#include <algorithm>
#include <string>

#include "broker/engine/tube.h"

namespace gearstalk {
namespace {

using Fate = Verdict::Fate;

constexpr std::size_t kLongestTubeName = 200;  // bytes

constexpr BadEndTraits kBadEnds[] = {
    {BadEnd::kTimeout, bad_end::kTimeout, Cause::kTimeout, false},
    {BadEnd::kRunLimit, bad_end::kTimeout, Cause::kTimeout, false},
    {BadEnd::kLost, bad_end::kLost, Cause::kLost, false},
    {BadEnd::kFailed, bad_end::kFail, Cause::kFailed, true},
    {BadEnd::kException, bad_end::kFail, Cause::kException, true},
    {BadEnd::kReleased, bad_end::kRelease, Cause::kReleased, true},
    {BadEnd::kBuried, bad_end::kBury, Cause::kBuried, true},
    {BadEnd::kReturned, 0, Cause::kNone, false},
    {BadEnd::kTakenBack, 0, Cause::kNone, true},
};

Verdict Fails(const Job& job, Cause cause, const Policy& policy, bool attempt) {
  Verdict verdict{.cause = cause, .attempt = attempt, .failed = true};
  const auto kept = [&] {
    switch (policy.on_failure) {
      case Policy::OnFailure::kAuto:
        return job.keep_on_failure ? Fate::kBuried : Fate::kGone;
      case Policy::OnFailure::kBury:
        return Fate::kBuried;
      case Policy::OnFailure::kDelete:
        return Fate::kGone;
      case Policy::OnFailure::kMove:
        return Fate::kMoved;
    }
    return Fate::kGone;
  };
  // A job that only foreground clients submitted is never kept; without a policy gearmand's rule
  // holds.
  verdict.fate =
      job.durable || policy.on_failure == Policy::OnFailure::kAuto ? kept() : Fate::kGone;
  return verdict;
}

Verdict Delayed(Time wait, Verdict verdict) {
  verdict.fate = wait > 0 ? Fate::kDelayed : Fate::kReady;
  verdict.wait = wait;
  return verdict;
}

Time Spread(Time wait, std::uint32_t jitter, double draw) {
  const double factor = 1 + (2 * draw - 1) * static_cast<double>(jitter) / 100;
  return jitter == 0 ? wait : static_cast<Time>(static_cast<double>(wait) * factor);
}

// The column "no retries" of the table in docs/policies.md.
Verdict NotRetried(const Job& job, const Ending& ending, const Policy& policy,
                   std::uint32_t job_retries) {
  const Cause cause = TraitsOf(ending.how).cause;
  switch (ending.how) {
    case BadEnd::kFailed:
    case BadEnd::kException:
      return Fails(job, cause, policy, /*attempt=*/false);
    case BadEnd::kReleased:
    case BadEnd::kTakenBack:
      return Delayed(After(0, ending.delay_s), {});
    case BadEnd::kBuried:
      return {.fate = Fate::kBuried, .cause = cause};
    case BadEnd::kRunLimit:
    case BadEnd::kLost:
      if (!policy.Retries() && job_retries > 0 && job.rest().lost_tries + 1 >= job_retries) {
        return Fails(job, cause, policy, /*attempt=*/false);
      }
      return {};
    case BadEnd::kTimeout:
    case BadEnd::kReturned:
      break;
  }
  return {};
}

}  // namespace

const BadEndTraits& TraitsOf(BadEnd end) {
  return *std::ranges::find(kBadEnds, end, &BadEndTraits::end);
}

// The order is that of docs/policies.md, "Attempts".
Verdict Judge(const Job& job, const Ending& ending, Time now, const Policy& policy,
              std::uint32_t job_retries, double draw) {
  const bool counts = policy.Retries() && (policy.retry_on & TraitsOf(ending.how).word) != 0;
  const bool fails = ending.how == BadEnd::kFailed || ending.how == BadEnd::kException;
  const bool plain_bury = ending.how == BadEnd::kBuried && !counts;
  if (job.abandoned && !plain_bury) return {.fate = Fate::kGone, .failed = fails};
  if (!plain_bury && job.ExpiredAt(now)) return JudgeExpired(job, policy);
  if (!counts) return NotRetried(job, ending, policy, job_retries);
  const Cause cause = TraitsOf(ending.how).cause;
  const std::uint32_t attempt = job.extra().attempts + 1;
  if (policy.attempts > 0 && attempt >= policy.attempts) {
    return Fails(job, cause, policy, /*attempt=*/true);
  }
  const Time wait = Spread(policy.backoff.After(attempt), policy.jitter, draw);
  return Delayed(std::max(wait, After(0, ending.delay_s)), {.cause = cause, .attempt = true});
}

Verdict JudgeExpired(const Job& job, const Policy& policy) {
  Verdict verdict{.fate = Fate::kGone, .cause = Cause::kExpired, .expired = true};
  if (!job.durable) return verdict;
  if (policy.on_expiry == Policy::OnExpiry::kBury) verdict.fate = Fate::kBuried;
  if (policy.on_expiry == Policy::OnExpiry::kMove) verdict.fate = Fate::kMoved;
  return verdict;
}

Fate FateOfFailed(const Job& job) {
  if (job.abandoned) return Fate::kGone;
  const Fate fate = Fails(job, Cause::kFailed, PolicyOf(job.tube()), /*attempt=*/false).fate;
  return fate == Fate::kMoved && MoveBuries(job) ? Fate::kBuried : fate;
}

bool MoveBuries(const Job& job) {
  const std::string& tube = job.tube().name();
  const std::string dead = PolicyOf(job.tube()).DeadTubeOf(tube);
  return !job.origin().empty() || dead == tube || dead.size() > kLongestTubeName;
}

}  // namespace gearstalk
