#include "admin/metrics/tube_survey.h"

#include <algorithm>
#include <cmath>

namespace gearstalk {

TubeSurvey::TubeSurvey(const Engine& engine, std::size_t wanted, Time now,
                       std::shared_ptr<const TubeHeat> before,
                       std::function<void(const Tube&)> look)
    : engine_(engine),
      wanted_(wanted),
      now_(now),
      before_(std::move(before)),
      look_(std::move(look)),
      oldest_ready_(now) {
  if (before_ != nullptr) {
    const double half_lives =
        static_cast<double>(now_ - before_->at) / static_cast<double>(kHalfLife);
    fade_ = std::exp2(-half_lives);
  }
  heat_->at = now_;
  heat_->entries.reserve(engine_.Stats().tubes);
}

bool TubeSurvey::Advance() {
  for (std::size_t i = 0; i < kSlice; ++i) {
    const Tube* tube = engine_.NextTube(cursor_);
    if (tube == nullptr) return false;
    cursor_ = tube->id();
    Consider(*tube, HeatOf(*tube));
    if (look_) look_(*tube);
    if (const Job* oldest = tube->OldestReady()) {
      oldest_ready_ = std::min(oldest_ready_, oldest->created);
    }
  }
  return true;
}

// The tubes and the remembered heats are both in the order of ids.
double TubeSurvey::HeatOf(const Tube& tube) {
  double heat = 0;
  std::uint64_t known_jobs = 0;
  if (before_ != nullptr) {
    const auto& entries = before_->entries;
    while (remembered_ < entries.size() && entries[remembered_].tube < tube.id()) ++remembered_;
    if (remembered_ < entries.size() && entries[remembered_].tube == tube.id()) {
      heat = entries[remembered_].heat * fade_;
      known_jobs = entries[remembered_].jobs;
    }
  }
  heat += static_cast<double>(tube.total_jobs - known_jobs);
  heat_->entries.push_back({tube.id(), tube.total_jobs, heat});
  return heat;
}

void TubeSurvey::Consider(const Tube& tube, double heat) {
  if (wanted_ == 0) return;
  const double there = static_cast<double>(tube.unfinished() + tube.buried());
  // Among equally busy tubes the older one stays: a smaller id makes a larger key.
  busiest_.emplace_back(heat + there, UINT64_MAX - tube.id());
  std::push_heap(busiest_.begin(), busiest_.end(), std::greater<>());
  if (busiest_.size() <= wanted_) return;
  std::pop_heap(busiest_.begin(), busiest_.end(), std::greater<>());
  busiest_.pop_back();
}

std::vector<std::uint64_t> TubeSurvey::Busiest() const {
  std::vector<std::uint64_t> ids;
  for (const auto& [heat, id] : busiest_) ids.push_back(UINT64_MAX - id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace gearstalk
