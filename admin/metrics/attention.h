#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/metrics/server_facts.h"
#include "broker/engine/engine.h"

namespace gearstalk {

// What an operator should look at; docs/operations.md defines each kind. The first kTubeConcerns
// are of tubes.
enum class Concern : std::uint8_t {
  kUnserved,
  kFallsBehind,
  kSilentWorkers,
  kHeldBack,
  kPaused,
  kBuried,
  kSchedules,
  kDisk,
  kMemory,
  kStandby,
  kRefused,
  kDraining,
};
inline constexpr std::string_view kConcernNames[] = {
    "unserved",  "falls_behind", "silent_workers", "held_back", "paused",  "buried",
    "schedules", "disk",         "memory",         "standby",   "refused", "draining"};
inline constexpr std::size_t kConcerns = std::size(kConcernNames);
inline constexpr std::size_t kTubeConcerns = 6;

// Space that ends.
struct SpaceLeft {
  std::uint64_t used = 0, limit = 0;  // bytes; limit 0: none is known
  Time ends_in = kNever;              // at the pace of the last hour
};

// What was found at one look at everything.
struct Concerns {
  struct Finding {
    std::uint64_t tube;  // id; 0: the server
    Time since;          // when it was found first
  };
  Time at = 0;                                          // 0: nothing was looked at yet
  std::array<std::vector<Finding>, kConcerns> by_kind;  // by id
  std::vector<std::string> schedules;                   // that skipped or missed their last time
  SpaceLeft disk, memory;
  std::vector<std::pair<std::string_view, std::uint64_t>> refused;  // lately, by reason

  const std::vector<Finding>& Of(Concern kind) const {
    return by_kind[static_cast<std::size_t>(kind)];
  }
  // How many tubes or schedules; of the server's concerns 1.
  std::size_t Count(Concern kind) const {
    return kind == Concern::kSchedules ? schedules.size() : Of(kind).size();
  }
  bool Has(Concern kind, std::uint64_t tube) const;
};

// Works out what needs attention. It rides on a survey of all tubes, which is made in slices.
class Attention {
 public:
  struct Sources {
    const Engine& engine;
    std::function<ServerFacts()> facts;
    // Bytes that the file system of the journal has left; nothing: there is no such journal.
    std::function<std::optional<std::uint64_t>()> disk_left;
  };
  explicit Attention(Sources sources) : sources_(std::move(sources)) {}

  // One survey: Begin, Look at each tube by rising ids, LookAtSchedules until it returns false.
  void Begin(Time now);
  void Look(const Tube& tube);
  bool LookAtSchedules();

  // Of the last survey.
  std::shared_ptr<const Concerns> concerns() const { return concerns_; }
  // Whether a tube still has a concern that does not depend on what was before.
  static bool StillHolds(Concern kind, const Engine& engine, const Tube& tube);

 private:
  // A tube whose jobs wait although it has workers.
  struct Watched {
    std::uint64_t tube;
    std::uint64_t reserves;  // at the last look
    Time taken_at;           // a job, or when the jobs began to wait
    // The last full minute.
    Time minute_at;
    std::size_t minute_ready;
    std::uint64_t minute_reserves;
    std::uint32_t rises;  // minutes in a row with more ready jobs at the end, although some left
  };
  struct Sample {
    Time at;
    std::uint64_t memory, disk;  // bytes used
    std::vector<std::pair<std::string_view, std::uint64_t>> refused;
  };

  void Find(Concern kind, std::uint64_t tube);
  Watched Watch(const Tube& tube);
  void LookAtServer();
  void LookAtRefusals(const Sample& sample);
  SpaceLeft Forecast(std::uint64_t Sample::*used, const Sample& sample, std::uint64_t limit) const;
  void Keep(Sample sample);

  const Sources sources_;
  Time now_ = 0;  // of this survey
  std::shared_ptr<const Concerns> concerns_ = std::make_shared<Concerns>();
  std::shared_ptr<Concerns> next_;
  std::array<std::size_t, kConcerns> passed_{};  // findings of the last survey, by kind
  std::vector<Watched> watched_, watched_next_;  // by id
  std::size_t watched_passed_ = 0;
  std::string last_schedule_;
  bool schedules_begun_ = false;
  std::deque<Sample> samples_;  // one a minute, of an hour
};

}  // namespace gearstalk
