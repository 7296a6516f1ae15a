#include "admin/ctl/class_guess.h"

#include <algorithm>

namespace gearstalk::ctl {
namespace {

// Whether exactly as many jobs left the queue between the two counts as were grabbed.
bool DifferenceFits(const ClassCounts& before, const ClassCounts& after, std::uint64_t grabbed) {
  const bool shrank =
      after.high <= before.high && after.normal <= before.normal && after.low <= before.low;
  return shrank &&
         before.high - after.high + before.normal - after.normal + before.low - after.low ==
             grabbed;
}

}  // namespace

ClassGuess GuessClasses(const ClassCounts& before, const ClassCounts& after, std::uint64_t grabbed,
                        bool none_new) {
  ClassGuess guess;
  const bool alone = before.workers <= 1 && after.workers <= 1;
  if (alone && DifferenceFits(before, after, grabbed)) {
    guess.high = before.high - after.high;
    guess.normal = before.normal - after.normal;
    guess.exact = true;
    return guess;
  }
  // Jobs beyond the counted ones are new, and taken for NORMAL, as most jobs are.
  guess.high = std::min(before.high, grabbed);
  const std::uint64_t others = grabbed - guess.high;
  const std::uint64_t normal = std::min(before.normal, others);
  const std::uint64_t low = std::min(before.low, others - normal);
  guess.normal = others - low;
  guess.exact = alone && none_new && guess.high + normal + low == grabbed &&
                after.high >= before.high - guess.high && after.normal >= before.normal - normal &&
                after.low >= before.low - low;
  return guess;
}

}  // namespace gearstalk::ctl
