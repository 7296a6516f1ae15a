#pragma once

#include <cstdint>

namespace gearstalk::ctl {

// A line of gearmand's `prioritystatus`: waiting jobs of a function by class, and its workers.
struct ClassCounts {
  std::uint64_t high = 0, normal = 0, low = 0, workers = 0;
};

// The classes of jobs that one worker grabbed one after the other: first HIGH, then NORMAL, then
// LOW ones.
struct ClassGuess {
  std::uint64_t high = 0, normal = 0;  // the rest is LOW
  bool exact = false;

  // Of the job grabbed as number `place`, from 0: 0 HIGH, 1 NORMAL, 2 LOW.
  int ClassOf(std::uint64_t place) const {
    return place < high ? 0 : place - high < normal ? 1 : 2;
  }
};

// `none_new`: every grabbed job was waiting when `before` was read. It is exact if no other worker
// is there and the counts leave one answer.
ClassGuess GuessClasses(const ClassCounts& before, const ClassCounts& after, std::uint64_t grabbed,
                        bool none_new);

}  // namespace gearstalk::ctl
