#include "tests/bench/load/flow.h"

#include "tests/bench/load/clock.h"

namespace gearstalk::bench {

std::optional<JobStart> Flow::Start(int64_t now) {
  if (!running_ || started_ >= limits_.jobs || unfinished() >= limits_.unfinished) return {};
  int64_t stamp = now;
  if (paced()) {
    if (next_start_ > now) return {};
    stamp = next_start_;
    next_start_ += FromSeconds(1 / limits_.per_second);
  }
  return JobStart{.index = started_++, .stamp = stamp};
}

bool Flow::Take() {
  if (ready_ == 0) return false;
  --ready_;
  return true;
}

void Flow::GiveBack() {
  ++refusals_;
  ++ready_;
}

void Flow::Finish(int64_t now, int64_t stamp) {
  ++finished_;
  ++done_;
  if (stamp != 0 && stamp >= measured_since_) cycles_.Add(now - stamp);
}

void Flow::Resume(int64_t now) {
  running_ = true;
  next_start_ = now;
}

void Flow::BeginMeasuring(int64_t now) {
  measured_since_ = now;
  done_ = 0;
  refusals_ = 0;
  cycles_.Clear();
  commands_.Clear();
}

int64_t Flow::next_start() const {
  return paced() && running_ ? next_start_ : std::numeric_limits<int64_t>::max();
}

}  // namespace gearstalk::bench
