#include "broker/policy/schedule.h"

#include <fmt/format.h>

#include <algorithm>

namespace gearstalk {

Result<Plan> Plan::Of(const Schedule& schedule, const std::string& default_zone) {
  Plan plan;
  plan.zone_ = GS_TRY(FindTimeZone(schedule.time_zone.empty() ? default_zone : schedule.time_zone));
  plan.every_ = schedule.every;
  if (schedule.cron.empty()) return plan;
  plan.cron_ = GS_TRY(Cron::Parse(schedule.cron));
  // An expression that is not due in the first years of the calendar is never due.
  if (plan.Next(0) == kNever) {
    return Status(Code::kInvalid,
                  fmt::format("'{}' is not due in the next {} years", schedule.cron, Cron::kYears));
  }
  return plan;
}

Time Plan::Next(Time after) const {
  if (every_ > 0) return (after / every_ + 1) * every_;
  const std::optional<std::int64_t> next = cron_->Next(after / kSecond, zone_);
  return next.has_value() ? *next * kSecond : kNever;
}

Plan::Passed Plan::PassedBy(Time until, Time first) const {
  if (every_ > 0) {
    const Time last = until / every_ * every_;
    return {last, static_cast<std::uint64_t>((last - first) / every_)};
  }
  Passed passed{.last = first};
  Time next = Next(first);
  for (; next <= until && passed.before < kCounted; next = Next(next)) {
    passed.last = next;
    ++passed.before;
  }
  if (next > until) return passed;
  // Too many to count: a binary search finds the last one. A time is planned behind `low` up to
  // `until`, and none behind `high`.
  Time low = passed.last, high = until;
  while (high - low > kSecond) {
    const Time middle = low + (high - low) / 2;
    (Next(middle) <= until ? low : high) = middle;
  }
  passed.last = Next(low);
  return passed;
}

std::string ScheduledBody(const Schedule& schedule, Time planned, const TimeZone& zone) {
  const std::int64_t seconds = planned / kSecond;
  const std::pair<std::string_view, std::string> places[] = {
      {"{time}", PrintTime(seconds, zone)},
      {"{epoch}", fmt::format("{}", seconds)},
      {"{name}", schedule.name}};
  std::string body;
  std::string_view rest = schedule.body;
  while (!rest.empty()) {
    std::size_t taken = std::min(rest.find('{', 1), rest.size());
    std::string_view text = rest.substr(0, taken);
    for (const auto& [place, value] : places) {
      if (!rest.starts_with(place)) continue;
      taken = place.size();
      text = value;
    }
    body += text;
    rest.remove_prefix(taken);
  }
  return body;
}

}  // namespace gearstalk
