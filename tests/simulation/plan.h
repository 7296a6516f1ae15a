#pragma once

#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"

namespace gearstalk::simulation {

// Everything that is left to chance in a run comes from one of these.
class Random {
 public:
  explicit Random(std::uint64_t seed) : source_(seed) {}
  std::uint64_t Below(std::uint64_t bound) { return source_() % bound; }
  bool Percent(unsigned percent) { return Below(100) < percent; }
  bool OneIn(std::uint64_t chances) { return Below(chances) == 0; }
  Time Between(Time least, Time most) {
    return least + static_cast<Time>(Below(static_cast<std::uint64_t>(most - least) + 1));
  }
  template <typename T>
  const T& Of(const std::vector<T>& values) {
    return values[Below(values.size())];
  }

 private:
  std::mt19937_64 source_;
};

// What a run may have. A seed switches each on or off, so that faults meet in all combinations.
enum class Feature : std::uint8_t {
  kJournal,    // off: jobs live in memory
  kKills,      // the process dies, at any call to the file system
  kPowerCuts,  // and takes with it what was not synced
  kIoErrors,   // a call to the file system fails
  kFullDisk,
  kRot,      // while the broker is down, bits flip, and sectors are lost or those of another file
  kStalls,   // clients that read nothing for a while
  kResets,   // connections that break, also half-closed ones
  kLate,     // the durable position becomes known late
  kPauses,   // of the process: no round for a while
  kDelays,   // of jobs
  kBuries,   // with kicks
  kLarge,    // bodies
  kGearman,  // clients and workers
  kTubePauses,
  kPolicies,
  kRestarts,  // in order
  kReserveById,
  kColdBodies,  // bodies leave memory, most of them or some
  kReplicated,  // the journal is in a store that 1 to 3 brokers share
  kGroups,      // in tubes
  kReloads,     // of policies
  kSchedules,
  kClockSteps,   // of the wall clock
  kDescriptors,  // run out
  kClocks,       // of brokers that share a store differ, and drift
  kTransfers,    // of jobs, in and out
  kDrains,       // the broker takes no new jobs for a while
};
inline constexpr int kFeatures = static_cast<int>(Feature::kDrains) + 1;
// For the command line, in their order.
inline constexpr std::string_view kFeatureNames[kFeatures] = {
    "journal",     "kills",      "power-cuts",  "io-errors", "full-disk", "rot",
    "stalls",      "resets",     "late",        "pauses",    "delays",    "buries",
    "large",       "gearman",    "tube-pauses", "policies",  "restarts",  "reserve-by-id",
    "cold-bodies", "replicated", "groups",      "reloads",   "schedules", "clock-steps",
    "descriptors", "clocks",     "transfers",   "drains"};

struct Plan {
  std::uint64_t seed = 0;
  int clients = 0;
  int brokers = 1;
  Time length = 0;             // during which clients begin new work and faults happen
  std::uint32_t features = 0;  // a bit each

  // What the seed makes of it.
  static Plan OfSeed(std::uint64_t seed) {
    Random random(seed * 2 + 1);
    Plan plan{.seed = seed};
    plan.clients = static_cast<int>(1 + random.Below(random.OneIn(8) ? 50 : 20));
    plan.length = random.Between(10 * kSecond, 120 * kSecond);
    for (int feature = 0; feature < static_cast<int>(Feature::kColdBodies); ++feature) {
      if (random.Percent(50)) plan.features |= 1U << static_cast<unsigned>(feature);
    }
    // What damages disks has a journal; most runs have one, and most of these an honest disk.
    if (random.Percent(80)) plan.features |= Bit(Feature::kJournal);
    if (random.Percent(80)) plan.features &= ~Bit(Feature::kRot);
    if (random.Percent(50)) plan.features &= ~Bit(Feature::kIoErrors);
    if (random.Percent(50)) plan.features |= Bit(Feature::kColdBodies);
    if (random.Percent(25)) plan.features |= Bit(Feature::kReplicated);
    plan.brokers = static_cast<int>(1 + random.Below(3));
    for (const Feature feature : {Feature::kGroups, Feature::kReloads, Feature::kSchedules,
                                  Feature::kClockSteps, Feature::kDescriptors, Feature::kClocks}) {
      if (random.Percent(50)) plan.features |= Bit(feature);
    }
    if (random.Percent(40)) plan.features |= Bit(Feature::kTransfers);
    if (random.Percent(15)) plan.features |= Bit(Feature::kDrains);
    return plan;
  }
  static std::uint32_t Bit(Feature feature) { return 1U << static_cast<unsigned>(feature); }
  bool Has(Feature feature) const { return (features & Bit(feature)) != 0; }
};

}  // namespace gearstalk::simulation
