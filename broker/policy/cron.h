#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "broker/base/status.h"
#include "broker/policy/time_zone.h"

namespace gearstalk {

// When something is due by the calendar: which seconds, minutes, hours, days and months fit. Pure:
// no clock.
class Cron {
 public:
  // "minute hour day-of-month month day-of-week", or six fields with seconds in front, or
  // "@daily" and its like. docs/policies.md has the fields. Errors name the field.
  static Result<Cron> Parse(std::string_view text);

  // The fields of Gearman's SUBMIT_JOB_SCHED: no names, an empty field is "*", weekday 0 is Monday.
  struct SchedFields {
    std::string_view minute, hour, day, month, weekday;
  };
  static Result<Cron> ParseSched(const SchedFields& fields);

  // The first time after `after` that fits in `zone`, both in whole seconds since 1970; nothing if
  // there is none in the next kYears years. O(days).
  //
  // A local time that a change of the clocks skips is due at the moment of the change. One that
  // comes twice is due the first time, or both times if the hour field begins with "*".
  std::optional<std::int64_t> Next(std::int64_t after, const TimeZone& zone) const;

  static constexpr int kYears = 8;

 private:
  friend class CronParser;

  bool FitsDay(CivilDay day) const;
  std::optional<CivilSecond> FirstInDay(CivilSecond from) const;
  std::optional<CivilSecond> FirstIn(CivilSecond from, CivilSecond end) const;

  // Bit n: value n fits.
  std::uint64_t seconds_ = 0, minutes_ = 0;
  std::uint32_t hours_ = 0, days_ = 0;
  std::uint16_t months_ = 0;
  std::uint8_t weekdays_ = 0;  // 0 is Sunday
  bool last_day_ = false;
  bool any_day_ = false, any_weekday_ = false;  // the field begins with "*"
  bool any_hour_ = false;
};

}  // namespace gearstalk
