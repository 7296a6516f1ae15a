#include "admin/api/failure_groups.h"

#include <algorithm>

namespace gearstalk::api {
namespace {

constexpr double kUsualWindow = 24 * 3600, kMostWindow = 1e9;  // seconds

}  // namespace

FailureGroups::FailureGroups(const Engine& engine, std::optional<double> window_s, Time now)
    : engine_(engine),
      step_(
          std::max<Time>(static_cast<Time>(std::min(window_s.value_or(kUsualWindow), kMostWindow) *
                                           static_cast<double>(kSecond)) /
                             Time{kSteps},
                         1)),
      begin_(now - step_ * Time{kSteps}) {}

void FailureGroups::Add(const Job& job) {
  const auto [at, fresh] =
      groups_.try_emplace({job.tube().id(), CauseOf(job), std::string(job.origin())});
  if (fresh) ++total_;
  Group& group = at->second;
  ++group.count;
  if (job.state() == JobState::kBuried) ++group.buried;
  const Time ended = job.extra().ended;
  if (ended == 0) return;
  group.first = std::min(group.first, ended);
  group.last = std::max(group.last, ended);
  if (ended < begin_) return;
  ++group.per_step[std::min(static_cast<std::size_t>((ended - begin_) / step_), kSteps - 1)];
}

bool FailureGroups::ComesFirst(const Node& a, const Node& b) {
  const Group &one = a.mapped(), &other = b.mapped();
  return std::tie(one.count, one.last, b.key()) > std::tie(other.count, other.last, a.key());
}

// Drops those that are not shown one by one, too: all at once would take long.
bool FailureGroups::Rank() {
  if (groups_.empty()) return false;
  for (std::size_t steps = 0; steps < kRanked && !groups_.empty(); ++steps) {
    shown_.push_back(groups_.extract(groups_.begin()));
    std::push_heap(shown_.begin(), shown_.end(), ComesFirst);
    if (shown_.size() <= kShown) continue;
    std::pop_heap(shown_.begin(), shown_.end(), ComesFirst);
    shown_.pop_back();
  }
  if (groups_.empty()) std::sort_heap(shown_.begin(), shown_.end(), ComesFirst);
  return true;
}

// A group whose tube is gone has no jobs any more.
bool FailureGroups::Tell() {
  for (std::size_t told = 0; at_ < shown_.size(); ++at_) {
    if (told++ == kTold) return true;
    const std::uint64_t id = std::get<0>(shown_[at_].key());
    if (const Tube* const tube = TubeOfId(engine_, id))
      objects_.push_back(ObjectOf(*tube, shown_[at_]));
  }
  return false;
}

Json FailureGroups::ObjectOf(const Tube& tube, const Node& node) {
  const auto& [id, cause, origin] = node.key();
  const Group& group = node.mapped();
  return {{"tube", TextOf(tube.name())},
          {"tube_ref", RefOf(tube.name())},
          {"origin", TextOrNull(origin)},
          {"cause", TextOrNull(cause)},
          {"count", group.count},
          {"buried", group.buried},
          {"first_failed_at", TimeOrNull(group.first)},
          {"last_failed_at", TimeOrNull(group.last)},
          {"per_step", group.per_step}};
}

}  // namespace gearstalk::api
