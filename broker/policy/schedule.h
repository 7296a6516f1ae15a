#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "broker/base/clock.h"
#include "broker/policy/cron.h"
#include "broker/policy/time_zone.h"

namespace gearstalk {

// One entry of `schedules:` in the configuration file: a job that comes by the calendar.
struct Schedule {
  std::string name = {};  // 1 to 64 of A-Za-z0-9._-
  std::string cron = {};  // as written; empty: `every` counts
  Time every = 0;         // from kSecond; the multiples of it since 1970
  std::string tube = {};
  std::string body = {};       // with the places {time}, {epoch}, {name}
  std::string time_zone = {};  // as written; empty: the option time_zone
  std::uint32_t priority = 65'536;
  std::uint32_t ttr_s = 120;
  std::uint32_t delay_s = 0;
  bool overlap = false;
  Time catch_up = 3'600 * kSecond;
  bool operator==(const Schedule&) const = default;
};

// When a schedule is due, read from its text form once.
class Plan {
 public:
  // Errors name what is wrong: the cron expression, the zone, or that nothing is ever due.
  // `default_zone` is that of a schedule that names none.
  static Result<Plan> Of(const Schedule& schedule, const std::string& default_zone);

  // The first time after `after`, both in nanoseconds since 1970; kNever if there is none.
  Time Next(Time after) const;

  struct Passed {
    Time last = 0;             // the last planned time up to `until`
    std::uint64_t before = 0;  // planned times from `first` up to `last`, without `last`
  };
  static constexpr std::uint64_t kCounted = 10'000;
  // The planned times from `first`, which is one, to `until`. Of a cron expression it counts
  // kCounted at most. O(kCounted).
  Passed PassedBy(Time until, Time first) const;
  const TimeZone& zone() const { return zone_; }

 private:
  TimeZone zone_;
  Time every_ = 0;
  std::optional<Cron> cron_;
};

// The body with {time} (RFC 3339), {epoch} and {name} replaced. `planned`: nanoseconds since 1970.
std::string ScheduledBody(const Schedule& schedule, Time planned, const TimeZone& zone);

}  // namespace gearstalk
