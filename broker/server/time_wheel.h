#pragma once

#include <algorithm>
#include <array>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>

#include "broker/base/clock.h"

namespace gearstalk {

// A timer wheel: its slots are a 32nd of `span` long. An entry never comes out before its time, and
// at most one slot later if the wheel is asked often enough. O(1) in the number of entries.
template <typename T, typename Hook, Hook T::*hook>
class TimeWheel {
 public:
  // Removes all entries. Nothing may be put further ahead than `span` from now on.
  void Start(Time now, Time span) {
    due_.clear();
    for (List& list : slots_) list.clear();
    width_ = std::max<Time>(span / static_cast<Time>(kSlots / 2), kMillisecond);
    next_ = now / width_;
  }
  void Put(T& thing, Time at) { SlotOf(std::max(at / width_, next_)).push_back(thing); }

  // Removes and returns an entry that is due; nullptr if there is none. An entry that is put back
  // for a time after `now` does not come out in the same pass.
  T* Pop(Time now) {
    if (due_.empty()) Collect(now / width_);
    if (due_.empty()) return nullptr;
    T* thing = &due_.front();
    due_.pop_front();
    return thing;
  }
  // When to call it again.
  Time NextLook() const { return due_.empty() ? (next_ + 1) * width_ : 0; }

 private:
  static constexpr std::size_t kSlots = 64;
  using List = boost::intrusive::list<T, boost::intrusive::member_hook<T, Hook, hook>,
                                      boost::intrusive::constant_time_size<false>>;

  // Empties the slots before `current` first: they are reused for later times.
  void Collect(std::int64_t current) {
    next_ = std::max(next_, current - static_cast<std::int64_t>(kSlots));
    for (; next_ < current; ++next_) due_.splice(due_.end(), SlotOf(next_));
  }
  List& SlotOf(std::int64_t slot) { return slots_[static_cast<std::size_t>(slot) % kSlots]; }

  List due_;
  std::array<List, kSlots> slots_;
  Time width_ = kSecond;
  std::int64_t next_ = 0;  // the first slot that has not been emptied
};

}  // namespace gearstalk
