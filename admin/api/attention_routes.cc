#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "admin/api/json.h"
#include "admin/api/routes.h"
#include "admin/metrics/attention.h"
#include "broker/policy/duration.h"

namespace gearstalk::api {
namespace {

constexpr std::size_t kTubesAtOnce = 128;  // looked at in a slice
constexpr std::size_t kTubesNamed = 20;    // of each kind: those with the most jobs

using Finding = Concerns::Finding;

// "1 tube", "2 tubes".
std::string Some(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::uint64_t JobsOf(Concern kind, const Tube& tube) {
  return kind == Concern::kBuried ? tube.buried() : tube.ready();
}

// Rounded up to a whole unit: "10m", "2d".
std::string Rounded(Time duration) {
  constexpr Time kMinute = 60 * kSecond, kHour = 60 * kMinute;
  const Time unit = duration > 2 * kDay      ? kDay
                    : duration > 2 * kHour   ? kHour
                    : duration > 2 * kMinute ? kMinute
                                             : kSecond;
  return PrintDuration((duration + unit - 1) / unit * unit);
}

std::string PauseReason(std::string_view ready, Time left) {
  const std::string end = left > kLongestDuration ? "until it is resumed"
                                                  : fmt::format("for another {}", Rounded(left));
  return fmt::format("{} in a tube that is paused {}", ready, end);
}

// What holds back the ready jobs of a tube.
std::string HeldBackReason(const Tube& tube) {
  if (tube.held_back == HeldBack::kRate) return "the policy 'rate' allows no more now";
  if (tube.held_back == HeldBack::kNone) return "none of its groups may give one now";
  return fmt::format("the policy 'max_running' allows no more than the {} that run",
                     tube.reserved());
}

// Why a tube has the concern.
std::string ReasonOf(Concern kind, const Engine& engine, const Tube& tube, Time now) {
  const std::string ready = Some(tube.ready(), "ready job");
  const std::string workers = Some(tube.workers, "worker");
  switch (kind) {
    case Concern::kUnserved:
      return fmt::format("{}, no worker", ready);
    case Concern::kFallsBehind:
      return fmt::format("{}, more every minute although {} {} them", ready, workers,
                         tube.workers == 1 ? "takes" : "take");
    case Concern::kSilentWorkers:
      return fmt::format("{}, {}, {} running: none was taken for a minute", ready, workers,
                         tube.reserved());
    case Concern::kHeldBack:
      return fmt::format("{} held back: {}", ready, HeldBackReason(tube));
    case Concern::kPaused:
      return PauseReason(ready, engine.PauseLeft(now, tube));
    default:
      return Some(tube.buried(), "buried job");
  }
}

// What is wrong with so many tubes.
std::string ReasonOf(Concern kind, std::uint64_t tubes, std::uint64_t jobs) {
  const std::string in = fmt::format("{} in {}", Some(jobs, "ready job"), Some(tubes, "tube"));
  switch (kind) {
    case Concern::kUnserved:
      return in + " without a worker";
    case Concern::kFallsBehind:
      return in + " whose workers fall behind";
    case Concern::kSilentWorkers:
      return in + " whose workers took none for a minute";
    case Concern::kHeldBack:
      return in + " held back by a policy";
    case Concern::kPaused:
      return in + " that " + (tubes == 1 ? "is" : "are") + " paused";
    default:
      return fmt::format("{} in {} that got some since yesterday", Some(jobs, "buried job"),
                         Some(tubes, "tube"));
  }
}

std::string SpaceReason(std::string_view what, const SpaceLeft& space) {
  constexpr double kMegabyte = 1e6;
  const double used = static_cast<double>(space.used) / kMegabyte;
  const double limit = static_cast<double>(space.limit) / kMegabyte;
  if (space.ends_in == kNever) return fmt::format("{}: no job can be taken", what);
  if (space.ends_in == 0) return fmt::format("{}: {:.0f} of {:.0f} MB are used", what, used, limit);
  return fmt::format("{}: {:.0f} of {:.0f} MB are used; at this pace it ends in {:.1f} hours", what,
                     used, limit, Seconds(space.ends_in) / 3600);
}

std::string ListOf(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kTubesNamed); ++i) {
    list += (i > 0 ? ", " : "") + TextOf(names[i]);
  }
  return list;
}

std::string StandbyReason(const Engine& engine) {
  const ReplicaStats& replica = engine.journal().Replica();
  if (!replica.shared) return "";
  if (!replica.trouble.empty()) return TextOf(replica.trouble);
  if (replica.role == ReplicaStats::Role::kActive) return "no standby could take over at once";
  if (replica.behind_batches == 0) return "this standby has not caught up yet";
  const bool one = replica.behind_batches == 1;
  return fmt::format("this standby does not follow closely: {} {} to be applied",
                     replica.behind_batches, one ? "batch is" : "batches are");
}

std::string ServerReason(Concern kind, const Concerns& concerns, const Engine& engine) {
  switch (kind) {
    case Concern::kSchedules:
      return fmt::format("{} left out the last planned time: {}",
                         Some(concerns.schedules.size(), "schedule"), ListOf(concerns.schedules));
    case Concern::kDisk:
      return SpaceReason("journal", concerns.disk);
    case Concern::kMemory:
      return SpaceReason("limits.memory", concerns.memory);
    case Concern::kStandby:
      return StandbyReason(engine);
    case Concern::kRefused: {
      std::string words;
      for (const auto& [reason, count] : concerns.refused) {
        words += fmt::format("{}{} ({})", words.empty() ? "" : ", ", reason, count);
      }
      return "refused in the last ten minutes: " + words;
    }
    default:
      return "draining: no new jobs are taken";
  }
}

std::string LinkOf(Concern kind) {
  const auto number = static_cast<std::size_t>(kind);
  if (kind == Concern::kBuried) return "#/failures?since=24h";
  if (kind == Concern::kSchedules) return "#/schedules";
  if (number >= kTubeConcerns) return "#/server";
  return fmt::format("#/tubes?only={}", kConcernNames[number]);
}

using Named = std::pair<std::uint64_t, Finding>;  // jobs, and the tube that has them
bool MoreJobs(const Named& a, const Named& b) {
  return a.first != b.first ? a.first > b.first : a.second.tube < b.second.tube;
}

// What the caller sees of a kind.
struct Seen {
  std::uint64_t count = 0, jobs = 0;
  Time since = kNever;
  std::vector<Named> most;  // a heap, the one with the fewest jobs in front

  void Add(const Finding& finding, std::uint64_t its_jobs) {
    ++count;
    jobs += its_jobs;
    since = std::min(since, finding.since);
    most.emplace_back(its_jobs, finding);
    std::push_heap(most.begin(), most.end(), MoreJobs);
    if (most.size() <= kTubesNamed) return;
    std::pop_heap(most.begin(), most.end(), MoreJobs);
    most.pop_back();
  }
};

Json ItemOf(Concern kind, std::uint64_t count, Json jobs, Time since, std::string reason,
            Json tubes) {
  return {{"kind", kConcernNames[static_cast<std::size_t>(kind)]},
          {"count", count},
          {"jobs", std::move(jobs)},
          {"since_at", Timestamp(since)},
          {"reason", std::move(reason)},
          {"link", LinkOf(kind)},
          {"tubes", std::move(tubes)}};
}

Json ItemOf(Concern kind, const Services& services, Seen seen) {
  std::sort_heap(seen.most.begin(), seen.most.end(), MoreJobs);
  Json tubes = Json::array();
  for (const auto& [jobs, finding] : seen.most) {
    const Tube* const tube = TubeOfId(services.engine, finding.tube);
    if (tube == nullptr) continue;
    tubes.push_back({{"name", TextOf(tube->name())},
                     {"ref", RefOf(tube->name())},
                     {"since_at", Timestamp(finding.since)},
                     {"jobs", jobs},
                     {"workers", tube->workers},
                     {"reason", ReasonOf(kind, services.engine, *tube, services.Now())}});
  }
  return ItemOf(kind, seen.count, seen.jobs, seen.since, ReasonOf(kind, seen.count, seen.jobs),
                std::move(tubes));
}

// One item for each kind of which the caller sees something. The tubes that the last survey found
// are looked at again. `only`: the tube alone.
Task ListAttention(const Services& services, Grant grant, std::optional<std::uint64_t> only) {
  const Engine& engine = services.engine;
  const std::shared_ptr<const Concerns> concerns = services.attention.concerns();
  Json items = Json::array();
  for (std::size_t i = 0; i < kTubeConcerns; ++i) {
    const auto kind = static_cast<Concern>(i);
    Seen seen;
    std::size_t looked = 0;
    for (const Finding& finding : concerns->Of(kind)) {
      if (++looked % kTubesAtOnce == 0) co_await NextSlice();
      if (only && finding.tube != *only) continue;
      const Tube* const tube = TubeOfId(engine, finding.tube);
      if (tube == nullptr || !grant.Sees(tube->name())) continue;
      if (Attention::StillHolds(kind, engine, *tube)) seen.Add(finding, JobsOf(kind, *tube));
    }
    if (seen.count > 0) items.push_back(ItemOf(kind, services, std::move(seen)));
    co_await NextSlice();
  }
  for (std::size_t i = kTubeConcerns; i < kConcerns && !only && grant.SeesAll(); ++i) {
    const auto kind = static_cast<Concern>(i);
    if (concerns->Of(kind).empty()) continue;
    items.push_back(ItemOf(kind, concerns->Count(kind), Json(), concerns->Of(kind).front().since,
                           ServerReason(kind, *concerns, engine), Json::array()));
  }
  co_return Reply::Of({{"items", std::move(items)}, {"at", TimeOrNull(concerns->at)}});
}

}  // namespace

Reply GetAttention(Call& call) {
  const std::optional<std::string> name = call.fields.Bytes("tube");
  if (!call.fields.Finish()) return call.fields.problem();
  std::optional<std::uint64_t> id;
  if (name) {
    const Tube* const tube = call.engine().FindTube(*name);
    id = tube == nullptr ? 0 : tube->id();
  }
  return ListAttention(call.services, call.caller.grant, id);
}

}  // namespace gearstalk::api
