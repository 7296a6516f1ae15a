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
class Timer : public HeapElement {
 public:
  enum class Kind : std::uint8_t { kTube, kConsumer };

  Kind kind() const { return kind_; }

 protected:
  explicit Timer(Kind kind) : kind_(kind) {}
  ~Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  Kind kind_;
};

// When the engine has to act next. An entry may be earlier than what its owner really waits for:
// moving a deadline further away costs nothing, the owner is asked once at the old time and says
// the new one. So the usual case, deadlines that never come, does no work in the heap.
class Deadlines {
 public:
  // Makes sure that `timer` comes up at `time` or before.
  void Arm(Timer& timer, Time time) {
    if (time < (timer.in_heap() ? heap_.TimeAt(timer.HeapSlot()) : kNever)) heap_.Set(time, &timer);
  }
  void Cancel(Timer& timer) { heap_.Drop(&timer); }

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
