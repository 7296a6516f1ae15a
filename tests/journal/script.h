#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tests/journal/rig.h"

namespace gearstalk {

// A run of changes that is the same every time, with small segments, so that it rolls, compacts,
// recycles and releases. Remembers the state after every change, and which of them a client was
// told of.
class Script {
 public:
  explicit Script(Rig& rig, std::uint32_t seed = 1) : rig_(rig), lot_(seed) {}

  // After a start: the states to compare with begin with the one that was read back.
  void Begin();
  // Up to `rounds` rounds of some changes and a Flush; less if the journal accepts no more.
  void Run(int rounds);

  // Whether `found` is what was there after some change that came with or after the last one that
  // was acknowledged, or after any change at all; and no id was forgotten.
  bool Explains(const Model::State& found, bool acknowledged_are_kept = true) const;
  std::size_t acknowledged() const { return acknowledged_; }
  std::size_t changes() const { return states_.size(); }

 private:
  std::uint32_t Draw(std::uint32_t below) { return static_cast<std::uint32_t>(lot_() % below); }
  void Change();
  void Note(Lsn lsn);
  std::uint64_t SomeJob();

  Rig& rig_;
  std::mt19937 lot_;
  std::vector<Model::State> states_;
  std::vector<Lsn> lsns_;
  std::size_t acknowledged_ = 0;  // index into states_
  std::uint64_t burial_ = 0;
};

}  // namespace gearstalk
