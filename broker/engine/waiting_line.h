#pragma once

#include <cstddef>
#include <cstdint>

#include "broker/engine/consumer.h"
#include "broker/engine/tube.h"

namespace gearstalk {

// Who waits for a job of which tube, first come first served. Part of Dispatch.
//
// A consumer of few tubes stands in the line of each; one of many stands in one line for all such
// consumers, or beginning to wait would cost as much as it watches. Questions about a tube look at
// that line or at the tube's wide watchers, whichever are fewer, and count their steps in `effort`.
class WaitingLine {
 public:
  // `effort` outlives it.
  explicit WaitingLine(std::uint64_t& effort) : effort_(effort) {}

  // Consumer::wait_since of a new wait.
  std::uint64_t Begin() { return ++last_; }
  // At its place by the beginning of its wait; again when its watches have changed.
  void Enter(Consumer& consumer);
  void Leave(Consumer& consumer);
  // The same for one tube of a consumer of few.
  void Enter(WatchEntry& watch);
  static void Leave(WatchEntry& watch);

  // Who has waited longest for a job of the tube; nullptr: nobody waits.
  Consumer* Longest(const Tube& tube) const {
    if (tube.wide.empty()) return tube.line.empty() ? nullptr : &tube.line.front().consumer;
    return LongestOfAll(tube);
  }
  std::size_t Count(const Tube& tube) const;
  // All who wait for a job of the tube. The visitor must not change the line.
  template <typename Visitor>
  void Visit(const Tube& tube, Visitor visit) const {
    effort_ += tube.line.size();
    for (const WatchEntry& watch : tube.line) visit(watch.consumer);
    VisitWide(tube, visit);
  }

 private:
  Consumer* LongestOfAll(const Tube& tube) const;
  Consumer* LongestWide(const Tube& tube) const;

  // Those who watch this tube and many others and wait, in no order.
  template <typename Visitor>
  void VisitWide(const Tube& tube, Visitor visit) const {
    if (wide_.size() < tube.wide.size()) {
      effort_ += wide_.size();
      for (const Consumer& consumer : wide_) {
        if (consumer.watched().Find(tube) != nullptr) visit(const_cast<Consumer&>(consumer));
      }
    } else {
      effort_ += tube.wide.size();
      for (const WatchEntry& watch : tube.wide) {
        if (watch.consumer.waiting()) visit(watch.consumer);
      }
    }
  }

  std::uint64_t& effort_;
  std::uint64_t last_ = 0;   // Consumer::wait_since of the latest wait
  Consumer::WideList wide_;  // consumers of many tubes, by wait_since
};

}  // namespace gearstalk
