#pragma once

#include <deque>

#include "broker/base/clock.h"

namespace gearstalk {

// Long work beside the clients': at most one slice of it in a round of the loop, in turn.
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
