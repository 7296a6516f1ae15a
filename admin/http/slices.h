#pragma once

#include <deque>

#include "broker/base/clock.h"

namespace gearstalk {

// Runs long work in slices at the end of rounds of the loop, each piece in turn. A client's command
// may wait for a slice, so a slice should take some ten microseconds.
class SliceWork {
 public:
  // Does one slice, below a millisecond. False: the work is done, and may be destroyed.
  virtual bool RunSlice(Time now) = 0;

 protected:
  ~SliceWork() = default;
};

class SliceQueue {
 public:
  // Runs it in the next rounds, until it is done.
  void Add(SliceWork& work) {
    Remove(work);
    queue_.push_back(&work);
  }
  void Remove(SliceWork& work) { std::erase(queue_, &work); }
  bool empty() const { return queue_.empty(); }

  void Run(Time now) {
    if (queue_.empty()) return;
    SliceWork* const work = queue_.front();
    queue_.pop_front();
    // Work that adds itself stays in the queue, also if it returns false.
    if (work->RunSlice(now)) queue_.push_back(work);
  }

 private:
  std::deque<SliceWork*> queue_;
};

}  // namespace gearstalk
