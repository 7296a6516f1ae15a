#pragma once

#include <deque>

#include "broker/base/clock.h"

namespace gearstalk {

// Long work beside the clients': slice by slice at the end of rounds of the loop, in turn. What a
// slice takes, a client's command may have to wait: some ten microseconds are a good size.
class SliceWork {
 public:
  // Does one slice, below a millisecond. False: there is nothing more to do; it may be destroyed.
  virtual bool RunSlice(Time now) = 0;

 protected:
  ~SliceWork() = default;
};

class SliceQueue {
 public:
  // It is run in the next rounds, until it says that there is nothing more.
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
    // It stands in the queue meanwhile if it adds itself, and then stays.
    if (work->RunSlice(now)) queue_.push_back(work);
  }

 private:
  std::deque<SliceWork*> queue_;
};

}  // namespace gearstalk
