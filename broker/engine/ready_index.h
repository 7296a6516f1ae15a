#pragma once

#include <array>
#include <cstdint>

#include "broker/engine/indexed_heap.h"
#include "broker/engine/tube.h"
#include "broker/engine/watch_list.h"

namespace gearstalk {

// The tubes that got a more urgent front lately: a job arrived, or a pause ended. A ring, so that
// noting one costs a store; whoever has not looked for too long has to look at everything.
class FreshTubes {
 public:
  static constexpr std::uint64_t kKept = 4096;

  void Note(const Tube& tube) { ring_[end_++ % kKept] = &tube; }
  // All tubes have to be looked at again.
  void NoteAll() { end_ += kKept + 1; }
  std::uint64_t end() const { return end_; }
  // May be gone by now: good for comparing, not for use.
  const Tube* At(std::uint64_t position) const { return ring_[position % kKept]; }

 private:
  std::array<const Tube*, kKept> ring_{};
  std::uint64_t end_ = 0;
};

// How a consumer of many tubes finds the most urgent job without looking at all of them: a heap of
// its watches by what the front of their tube was. An entry is never less urgent than its tube:
// fronts that get less urgent are noticed when their entry comes up, those that get more urgent are
// in FreshTubes.
class ReadyIndex {
 public:
  // The most urgent job of the tubes that are not paused, or nullptr.
  // Counts in `effort` the tubes that it looks at.
  // `fair`: among tubes with one priority the one that had least of its share, not the oldest job.
  Job* Best(const WatchList& watched, const FreshTubes& fresh, bool fair, std::uint64_t& effort);
  // The list has one more. What it already had is not looked at again.
  void Add(WatchEntry& watch) { Refresh(watch); }
  // The list is about to have one less.
  void Remove(WatchEntry& watch) { heap_.Drop(&watch); }

 private:
  void Refresh(WatchEntry& watch);
  void CatchUp(const WatchList& watched, const FreshTubes& fresh, std::uint64_t& effort);

  // What decides among fronts of one priority. It only grows while a front is the same.
  std::uint64_t OrderOf(const Tube& tube, const Job& front) const {
    return fair_ ? tube.pass : front.id();
  }

  IndexedHeap<WatchEntry> heap_;  // by priority of the front and OrderOf
  bool fair_ = false;
  std::uint64_t seen_ = 0;  // position in FreshTubes
  bool built_ = false;
};

}  // namespace gearstalk
