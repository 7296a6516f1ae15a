#include "broker/policy/schedule.h"

#include <fmt/format.h>

namespace gearstalk {

Result<Plan> Plan::Of(const Schedule& schedule, const std::string& default_zone) {
  Plan plan;
  Result<TimeZone> zone =
      FindTimeZone(schedule.time_zone.empty() ? default_zone : schedule.time_zone);
  if (!zone.ok()) return zone.status();
  plan.zone_ = zone.value();
  plan.every_ = schedule.every;
  if (schedule.cron.empty()) return plan;
  Result<Cron> cron = Cron::Parse(schedule.cron);
  if (!cron.ok()) return cron.status();
  plan.cron_ = cron.value();
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

std::string ScheduledBody(const Schedule& schedule, Time planned, const TimeZone& zone) {
  const std::int64_t seconds = planned / kSecond;
  const std::pair<std::string_view, std::string> places[] = {
      {"{time}", PrintTime(seconds, zone)},
      {"{epoch}", fmt::format("{}", seconds)},
      {"{name}", schedule.name}};
  std::string body;
  std::string_view rest = schedule.body;
  while (!rest.empty()) {
    std::size_t taken = 1;
    std::string_view text = rest.substr(0, 1);
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
