#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "admin/api/fields.h"
#include "admin/api/handlers.h"
#include "admin/api/names.h"
#include "admin/metrics/attention.h"

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

// Why a tube has the concern.
std::string ReasonOf(Concern kind, const Engine& engine, const Tube& tube, Time now) {
  const std::string ready = Some(tube.ready(), "ready job");
  const std::string workers = Some(tube.workers(), "worker");
  switch (kind) {
    case Concern::kUnserved:
      return fmt::format("{}, no worker", ready);
    case Concern::kFallsBehind:
      return fmt::format("{}, more every minute although {} {} them", ready, workers,
                         tube.workers() == 1 ? "takes" : "take");
    case Concern::kSilentWorkers:
      return fmt::format("{}, {}, {} running: none was taken for a minute", ready, workers,
                         tube.reserved());
    case Concern::kHeldBack:
      return fmt::format("{} held back: {}", ready,
                         tube.held_back() == HeldBack::kRate
                             ? "the policy 'rate' allows no more now"
                             : fmt::format("the policy 'max_running' allows no more than the {} "
                                           "that run",
                                           tube.reserved()));
    case Concern::kPaused:
      return fmt::format("{} in a tube that is paused for another {:.0f} s", ready,
                         Seconds(engine.PauseLeft(now, tube)));
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
  const ReplicaStats& replica = *engine.journal().Replica();
  if (!replica.trouble.empty()) return TextOf(replica.trouble);
  if (replica.role == ReplicaStats::Role::kActive) return "no standby could take over at once";
  return fmt::format("this standby does not follow closely: {} are to be applied",
                     Some(replica.behind_batches, "batch"));
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
      return engine.journal().Replica() == nullptr ? "" : StandbyReason(engine);
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
  switch (kind) {
    case Concern::kBuried:
      return "#/failures?since=24h";
    case Concern::kSchedules:
      return "#/schedules";
    case Concern::kUnserved:
    case Concern::kFallsBehind:
    case Concern::kSilentWorkers:
    case Concern::kHeldBack:
    case Concern::kPaused:
      return fmt::format("#/tubes?only={}", kConcernNames[static_cast<std::size_t>(kind)]);
    default:
      return "#/server";
  }
}

// One item for each kind of which the caller sees something. The tubes that the last survey found
// are looked at again, in slices.
class AttentionList final : public Task {
 public:
  AttentionList(const Call& call, std::optional<std::uint64_t> tube)
      : engine_(call.engine()),
        concerns_(call.services.attention.concerns()),
        grant_(call.caller.grant),
        tube_(tube) {}

  std::optional<Reply> Advance(Time now) override {
    if (kind_ < kTubeConcerns) {
      Look();
      if (place_ == Findings().size()) EndKind(now);
      return std::nullopt;
    }
    for (; kind_ < kConcerns; ++kind_) AddServerItem();
    return Reply::Of({{"items", std::move(items_)},
                      {"at", concerns_->at == 0 ? Json() : Json(Timestamp(concerns_->at))}});
  }

 private:
  Concern kind() const { return static_cast<Concern>(kind_); }
  const std::vector<Finding>& Findings() const { return concerns_->Of(kind()); }

  const Tube* TubeOfId(std::uint64_t id) const {
    const Tube* const tube = engine_.NextTube(id - 1);
    return tube != nullptr && tube->id() == id ? tube : nullptr;
  }

  void Look() {
    const std::vector<Finding>& found = Findings();
    for (std::size_t i = 0; i < kTubesAtOnce && place_ < found.size(); ++i, ++place_) {
      const Finding& finding = found[place_];
      if (tube_ && finding.tube != *tube_) continue;
      const Tube* const tube = TubeOfId(finding.tube);
      if (tube == nullptr || !grant_.Sees(tube->name())) continue;
      if (!Attention::StillHolds(kind(), engine_, *tube)) continue;
      const std::uint64_t jobs = JobsOf(kind(), *tube);
      ++count_;
      jobs_ += jobs;
      since_ = std::min(since_, finding.since);
      most_.emplace_back(jobs, finding);
      std::push_heap(most_.begin(), most_.end(), MoreJobs);
      if (most_.size() <= kTubesNamed) continue;
      std::pop_heap(most_.begin(), most_.end(), MoreJobs);
      most_.pop_back();
    }
  }

  using Named = std::pair<std::uint64_t, Finding>;
  static bool MoreJobs(const Named& a, const Named& b) {
    return a.first != b.first ? a.first > b.first : a.second.tube < b.second.tube;
  }

  void EndKind(Time now) {
    std::sort_heap(most_.begin(), most_.end(), MoreJobs);
    Json tubes = Json::array();
    for (const auto& [jobs, finding] : most_) {
      const Tube* const tube = TubeOfId(finding.tube);
      if (tube == nullptr) continue;
      tubes.push_back({{"name", TextOf(tube->name())},
                       {"ref", RefOf(tube->name())},
                       {"since_at", Timestamp(finding.since)},
                       {"jobs", jobs},
                       {"workers", tube->workers()},
                       {"reason", ReasonOf(kind(), engine_, *tube, now)}});
    }
    if (count_ > 0) {
      AddItem(count_, jobs_, since_, ReasonOf(kind(), count_, jobs_), std::move(tubes));
    }
    ++kind_;
    place_ = 0;
    count_ = jobs_ = 0;
    since_ = kNever;
    most_.clear();
  }

  void AddServerItem() {
    if (Findings().empty() || tube_ || !grant_.SeesAll()) return;
    AddItem(concerns_->Count(kind()), Json(), Findings().front().since,
            ServerReason(kind(), *concerns_, engine_), Json::array());
  }

  void AddItem(std::uint64_t count, Json jobs, Time since, std::string reason, Json tubes) {
    items_.push_back({{"kind", kConcernNames[kind_]},
                      {"count", count},
                      {"jobs", std::move(jobs)},
                      {"since_at", Timestamp(since)},
                      {"reason", std::move(reason)},
                      {"link", LinkOf(kind())},
                      {"tubes", std::move(tubes)}});
  }

  const Engine& engine_;
  const std::shared_ptr<const Concerns> concerns_;
  const Grant grant_;
  const std::optional<std::uint64_t> tube_;  // alone
  Json items_ = Json::array();
  std::size_t kind_ = 0;
  // Of this kind so far.
  std::size_t place_ = 0;
  std::uint64_t count_ = 0, jobs_ = 0;
  Time since_ = kNever;
  std::vector<Named> most_;  // a heap, the one with the fewest jobs in front
};

}  // namespace

Reply GetAttention(Call& call) {
  Fields fields = Fields::OfQuery(call.request.query);
  const std::optional<std::string> name = fields.Bytes("tube");
  if (!fields.Finish()) return fields.problem();
  std::optional<std::uint64_t> id;
  if (name) {
    const Tube* const tube = call.engine().FindTube(*name);
    id = tube == nullptr ? 0 : tube->id();
  }
  return Reply(std::make_unique<AttentionList>(call, id));
}

}  // namespace gearstalk::api
