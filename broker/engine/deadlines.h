#pragma once

#include <cstdint>

#include "broker/base/clock.h"
#include "broker/engine/indexed_heap.h"

namespace gearstalk {

// When the journal refuses the record of a change that is due, the engine leaves the job as it is
// and tries again after this time.
constexpr Time kTryAgain = kSecond;

// Something that has work at a time: a tube (a job becomes due, a pause ends) or a consumer (a
// reservation runs out, a wait times out).
class Timer {
 public:
  enum class Kind : std::uint8_t { kTube, kConsumer };

  Kind kind() const { return kind_; }
  std::uint32_t& HeapSlot() { return slot_; }
  std::uint64_t HeapOrder() const { return 0; }

 protected:
  explicit Timer(Kind kind) : kind_(kind) {}
  ~Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  friend class Deadlines;
  static constexpr std::uint32_t kIdle = UINT32_MAX;
  std::uint32_t slot_ = kIdle;
  Kind kind_;
};

// When the engine has to act next. An entry may be earlier than what its owner really waits for:
// moving a deadline further away costs nothing, the owner is asked once at the old time and says
// the new one. So the usual case, deadlines that never come, does no work in the heap.
class Deadlines {
 public:
  // Makes sure that `timer` comes up at `time` or before.
  void Arm(Timer& timer, Time time) {
    if (time == kNever) return;
    if (timer.slot_ == Timer::kIdle) {
      heap_.Push(time, &timer);
    } else if (time < heap_.TimeAt(timer.slot_)) {
      heap_.Move(&timer, time);
    }
  }

  void Cancel(Timer& timer) {
    if (timer.slot_ == Timer::kIdle) return;
    heap_.Remove(&timer);
    timer.slot_ = Timer::kIdle;
  }

  Time next() const { return heap_.top_time(); }

  // The timer that came up longest ago, taken out, or nullptr if none is due.
  Timer* PopDue(Time now) {
    if (heap_.top_time() > now) return nullptr;
    Timer* timer = heap_.top();
    Cancel(*timer);
    return timer;
  }

 private:
  IndexedHeap<Timer> heap_;
};

}  // namespace gearstalk
