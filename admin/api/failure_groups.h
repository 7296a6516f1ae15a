#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "admin/api/json.h"
#include "broker/engine/engine.h"

namespace gearstalk::api {

// Counts failed jobs by tube, origin and cause: Add each of them, Rank until it returns false, Tell
// likewise. There may be as many groups as tubes, so each call looks at a bounded number of them.
class FailureGroups {
 public:
  static constexpr std::size_t kShown = 100;   // the largest
  static constexpr std::size_t kRanked = 128;  // in a call of Rank
  static constexpr std::size_t kTold = 4;      // in a call of Tell

  // Each group has a line of the last `window_s` seconds, a day if there is no window.
  FailureGroups(const Engine& engine, std::optional<double> window_s, Time now);

  void Add(const Job& job);
  std::size_t total() const { return total_; }
  double step_seconds() const { return Seconds(step_); }
  bool Rank();
  bool Tell();
  // The shown ones, the largest first, of equal ones that of the last failure.
  Json TakeObjects() { return std::move(objects_); }

 private:
  static constexpr std::size_t kSteps = 24;                              // of a line
  using Key = std::tuple<std::uint64_t, std::string_view, std::string>;  // tube, cause, origin
  struct Group {
    std::uint64_t count = 0, buried = 0;
    Time first = kNever, last = 0;  // kNever and 0: no time is known
    std::array<std::uint32_t, kSteps> per_step{};
  };
  using Groups = std::map<Key, Group>;
  using Node = Groups::node_type;

  static bool ComesFirst(const Node& a, const Node& b);
  static Json ObjectOf(const Tube& tube, const Node& node);

  const Engine& engine_;
  const Time step_, begin_;
  Groups groups_;  // that are not ranked yet
  std::size_t total_ = 0;
  std::vector<Node> shown_;  // a heap, the last of them in front; sorted to tell
  std::size_t at_ = 0;       // that is told next
  Json objects_ = Json::array();
};

}  // namespace gearstalk::api
