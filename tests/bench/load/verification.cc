#include "tests/bench/load/verification.h"

namespace gearstalk::bench {

void Verification::Check(int consumer, std::string_view body) {
  ++counts_.jobs;
  const Origin origin = OriginOf(body);
  if (body != body_.Make(StampOf(body), origin)) {
    ++counts_.wrong;
    return;
  }
  const auto number = static_cast<size_t>(origin.number);
  if (number >= came_.size()) came_.resize(2 * number + 1);
  if (came_[number]) {
    ++counts_.doubled;
    return;
  }
  came_[number] = true;
  ++distinct_;
  int64_t& newest = newest_.try_emplace({consumer, origin.producer}, -1).first->second;
  if (ordered_ && origin.number < newest) ++counts_.out_of_order;
  newest = origin.number;
}

Verification::Counts Verification::Count(int64_t stored) const {
  Counts counts = counts_;
  counts.missing = stored - distinct_;
  return counts;
}

std::string Verification::Counts::Complaint() const {
  if (wrong == 0 && doubled == 0 && missing == 0 && out_of_order == 0) return {};
  return "of " + std::to_string(jobs) + " jobs " + std::to_string(wrong) + " are wrong, " +
         std::to_string(doubled) + " came twice, " + std::to_string(out_of_order) +
         " out of order, and " + std::to_string(missing) + " are missing";
}

}  // namespace gearstalk::bench
