#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "broker/engine/ready_index.h"
#include "broker/engine/tube.h"
#include "broker/engine/watch_list.h"

namespace gearstalk {

// The tubes that have ready jobs, and which of their jobs a consumer gets. Part of the store.
//
// The most urgent priority over all tubes of a consumer leaves first. Among equals it is the oldest
// job, or, where tubes take turns (`tube_order: fair`), that of the tube which had least of its
// share so far.
class ReadyTubes {
 public:
  explicit ReadyTubes(bool fair) : fair_(fair) {}

  void set_fair(bool fair);
  // The tube gets its first ready job, or has lost its last one. O(1).
  void Add(Tube& tube) {
    if (fair_) JoinTurn(tube);
    tube.ready_slot = static_cast<std::uint32_t>(tubes_.size());
    tubes_.push_back(&tube);
  }
  void Remove(Tube& tube) {
    tubes_[tube.ready_slot] = tubes_.back();
    tubes_[tube.ready_slot]->ready_slot = tube.ready_slot;
    tubes_.pop_back();
  }
  // The front of the tube got more urgent.
  void NoteFront(const Tube& tube) { fresh_.Note(tube); }
  // A tube that was stopped gives its jobs again.
  void Resume(Tube& tube);
  // The tube has given a job. `weight` is its policy's.
  void NoteHandOut(Tube& tube, std::uint32_t weight);

  // The front of the tubes that a consumer watches and that are not stopped; nullptr: there is
  // none. Looks at those it watches or at those with ready jobs, whichever are fewer; where both
  // are many, at what has changed, and makes the consumer's `index` if there is none. Counts in
  // `effort`.
  Job* FrontFor(const WatchList& watched, std::unique_ptr<ReadyIndex>& index,
                std::uint64_t& effort) const {
    return watched.size() == 1 ? (*watched.begin())->tube.FrontJob()
                               : FrontOfMany(watched, index, effort);
  }
  bool Has(const Tube& tube) const {
    return tube.ready_slot < tubes_.size() && tubes_[tube.ready_slot] == &tube;
  }

  // Of the fronts of different tubes.
  bool LeavesBefore(const Job& a, const Job& b) const;

 private:
  Job* FrontOfMany(const WatchList& watched, std::unique_ptr<ReadyIndex>& index,
                   std::uint64_t& effort) const;
  // A tube without ready jobs saves up no turns.
  void JoinTurn(Tube& tube) const { tube.pass = std::max(tube.pass, served_pass_); }
  template <typename Visitor>
  void Visit(const WatchList& watched, Visitor visit) const;

  bool fair_;
  std::uint64_t served_pass_ = 0;  // of the tube that handed out last
  std::vector<Tube*> tubes_;       // in no order
  FreshTubes fresh_;
};

}  // namespace gearstalk
