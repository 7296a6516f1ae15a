#include "broker/engine/waiting_line.h"

#include <iterator>

namespace gearstalk {

void WaitingLine::Enter(Consumer& consumer) {
  if (!consumer.watched().wide()) {
    for (const auto& watch : consumer.watched()) Enter(*watch);
    return;
  }
  auto at = wide_.end();
  while (at != wide_.begin() && std::prev(at)->wait_since() > consumer.wait_since()) {
    ++effort_;
    --at;
  }
  wide_.insert(at, consumer);
}

void WaitingLine::Leave(Consumer& consumer) {
  if (consumer.watched().wide()) {
    wide_.erase(wide_.iterator_to(consumer));
    return;
  }
  for (const auto& watch : consumer.watched()) Leave(*watch);
}

void WaitingLine::Enter(WatchEntry& watch) {
  WatchRing& line = watch.tube.line;
  auto at = line.end();
  while (at != line.begin() && std::prev(at)->consumer.wait_since() > watch.consumer.wait_since()) {
    ++effort_;
    --at;
  }
  line.insert(at, watch);
}

void WaitingLine::Leave(WatchEntry& watch) {
  WatchRing& line = watch.tube.line;
  line.erase(line.iterator_to(watch));
}

Consumer* WaitingLine::LongestOfAll(const Tube& tube) const {
  Consumer* const narrow = tube.line.empty() ? nullptr : &tube.line.front().consumer;
  Consumer* const wide = LongestWide(tube);
  if (narrow == nullptr || wide == nullptr) return narrow == nullptr ? wide : narrow;
  return narrow->wait_since() < wide->wait_since() ? narrow : wide;
}

// Searches all waiting consumers that watch many tubes, longest wait first, for as many steps as
// this tube has such watchers; then those watchers.
Consumer* WaitingLine::LongestWide(const Tube& tube) const {
  std::size_t steps = 0;
  for (const Consumer& wide : wide_) {
    if (steps++ == tube.wide.size()) break;
    ++effort_;
    if (wide.watched().Find(tube) != nullptr) return const_cast<Consumer*>(&wide);
  }
  if (wide_.size() <= tube.wide.size()) return nullptr;
  Consumer* longest = nullptr;
  VisitWide(tube, [&longest](Consumer& consumer) {
    if (longest == nullptr || consumer.wait_since() < longest->wait_since()) longest = &consumer;
  });
  return longest;
}

std::size_t WaitingLine::Count(const Tube& tube) const {
  std::size_t count = tube.line.size();
  VisitWide(tube, [&count](const Consumer&) { ++count; });
  return count;
}

}  // namespace gearstalk
