#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/bench/load/job.h"

namespace gearstalk::bench {

// Whether each job came as it was stored, once, and in its turn: the other end of bodies that are
// verified.
class Verification {
 public:
  // `ordered`: whatever one consumer gets of one producer comes in the order of its numbers.
  Verification(const JobShape& shape, bool ordered) : body_(shape), ordered_(ordered) {}

  void Check(int consumer, std::string_view body);

  struct Counts {
    int64_t jobs = 0;  // that came
    int64_t wrong = 0;
    int64_t doubled = 0;
    int64_t missing = 0;
    int64_t out_of_order = 0;

    // What is not as it should be; empty: all is.
    std::string Complaint() const;
  };
  // When all of so many jobs should have come.
  Counts Count(int64_t stored) const;

 private:
  BodyMaker body_;
  const bool ordered_;
  std::vector<bool> came_;                         // by number
  std::map<std::pair<int, int>, int64_t> newest_;  // by consumer and producer
  int64_t distinct_ = 0;
  Counts counts_;  // without those that are missing
};

}  // namespace gearstalk::bench
