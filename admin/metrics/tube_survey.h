#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "broker/engine/engine.h"

namespace gearstalk {

// What a survey keeps of every tube for the next one, in the order of their ids.
struct TubeHeat {
  struct Entry {
    std::uint64_t tube;
    std::uint64_t jobs;  // that it had received until then
    double heat;
  };
  Time at = 0;
  std::vector<Entry> entries;
};

// Walks all tubes in slices and finds the busiest. Tubes are ranked by current jobs plus recent
// arrivals; arrivals lose half their weight every ten minutes.
class TubeSurvey {
 public:
  static constexpr std::size_t kSlice = 128;  // tubes looked at in one Advance
  static constexpr Time kHalfLife = 600 * kSecond;

  // `before` is what the last survey remembered, or nullptr. `look` is called with each tube.
  TubeSurvey(const Engine& engine, std::size_t wanted, Time now,
             std::shared_ptr<const TubeHeat> before,
             std::function<void(const Tube&)> look = nullptr);

  // False: it is done, and the results below are valid.
  bool Advance();

  // Ids, in the order of creation.
  std::vector<std::uint64_t> Busiest() const;
  // When the oldest ready job of all was made; `now` if none is ready.
  Time oldest_ready() const { return oldest_ready_; }
  std::shared_ptr<const TubeHeat> heat() const { return heat_; }

 private:
  double HeatOf(const Tube& tube);
  void Consider(const Tube& tube, double heat);

  const Engine& engine_;
  const std::size_t wanted_;
  const Time now_;
  const std::shared_ptr<const TubeHeat> before_;
  const std::function<void(const Tube&)> look_;
  double fade_ = 0;             // of a heat since the last survey
  std::size_t remembered_ = 0;  // entries of `before_` that were passed
  std::uint64_t cursor_ = 0;
  Time oldest_ready_;
  std::shared_ptr<TubeHeat> heat_ = std::make_shared<TubeHeat>();
  std::vector<std::pair<double, std::uint64_t>> busiest_;  // a heap, the least busy in front
};

}  // namespace gearstalk
