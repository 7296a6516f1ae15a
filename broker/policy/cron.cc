// When a cron expression is due. cron_parser.cc reads it.

#include "broker/policy/cron.h"

#include <algorithm>
#include <bit>

namespace gearstalk {
namespace {

constexpr CivilSecond kForever(absl::CivilYear(1'000'000'000));

bool Has(std::uint64_t set, int value) { return (set >> value & 1) != 0; }

// The least value of the set that is not below `from`; -1: none.
int AtLeast(std::uint64_t set, int from) {
  if (from > 63) return -1;
  const std::uint64_t rest = set >> from << from;
  return rest == 0 ? -1 : std::countr_zero(rest);
}

// A stretch of time in which the zone has one offset: [begin, end) in local time.
struct Stretch {
  CivilSecond end = kForever;
  CivilSecond repeated_until = CivilSecond::min();  // local times before it were there before
  absl::Time change = absl::InfiniteFuture();       // when it ends
  CivilSecond resumes = kForever;                   // local time at `change`, after the change
};

Stretch StretchOf(absl::Time time, const TimeZone& zone) {
  Stretch stretch;
  TimeZone::CivilTransition next, last;
  if (zone.NextTransition(time, &next)) {
    stretch.end = next.from;
    stretch.resumes = next.to;
    stretch.change = absl::FromCivil(next.from, absl::FixedTimeZone(zone.At(time).offset));
  }
  // PrevTransition looks for a change before the second that it gets.
  if (zone.PrevTransition(time + absl::Seconds(1), &last)) stretch.repeated_until = last.from;
  return stretch;
}

}  // namespace

bool Cron::FitsDay(CivilDay day) const {
  if (!Has(months_, day.month())) return false;
  // absl counts weekdays from Monday.
  const int weekday = (static_cast<int>(absl::GetWeekday(day)) + 1) % 7;
  const bool by_weekday = Has(weekdays_, weekday);
  const bool by_date = Has(days_, day.day()) || (last_day_ && CivilDay(day + 1).day() == 1);
  return any_day_ || any_weekday_ ? by_date && by_weekday : by_date || by_weekday;
}

// The first matching time of a matching day that is not before `from`.
std::optional<CivilSecond> Cron::FirstInDay(CivilSecond from) const {
  int hour = AtLeast(hours_, from.hour());
  int minute = 0, second = 0;
  if (hour == from.hour()) {
    minute = AtLeast(minutes_, from.minute());
    if (minute == from.minute()) {
      second = AtLeast(seconds_, from.second());
      if (second < 0) minute = AtLeast(minutes_, minute + 1);
    }
    if (minute < 0) hour = AtLeast(hours_, hour + 1);
  }
  if (hour < 0) return std::nullopt;
  if (hour != from.hour()) minute = AtLeast(minutes_, 0);
  if (hour != from.hour() || minute != from.minute()) second = AtLeast(seconds_, 0);
  return CivilSecond(from.year(), from.month(), from.day(), hour, minute, second);
}

std::optional<CivilSecond> Cron::FirstIn(CivilSecond from, CivilSecond end) const {
  while (from < end) {
    if (FitsDay(CivilDay(from))) {
      const std::optional<CivilSecond> found = FirstInDay(from);
      if (found.has_value()) return *found < end ? found : std::nullopt;
    }
    from = CivilSecond(CivilDay(from) + 1);
  }
  return std::nullopt;
}

std::optional<std::int64_t> Cron::Next(std::int64_t after, const TimeZone& zone) const {
  absl::Time time = absl::FromUnixSeconds(after);
  CivilSecond from = zone.At(time).cs + 1;
  const CivilSecond last = from + std::int64_t{kYears} * 366 * 86'400;
  while (from < last) {
    const Stretch stretch = StretchOf(time, zone);
    if (!any_hour_) from = std::max(from, stretch.repeated_until);
    if (const auto found = FirstIn(from, std::min(stretch.end, last))) {
      return absl::ToUnixSeconds(
          absl::FromCivil(*found, absl::FixedTimeZone(zone.At(time).offset)));
    }
    if (stretch.end >= last) return std::nullopt;
    // Skipped local times are due at the change.
    if (FirstIn(std::max(from, stretch.end), stretch.resumes).has_value()) {
      return absl::ToUnixSeconds(stretch.change);
    }
    time = stretch.change;
    from = stretch.resumes;
  }
  return std::nullopt;
}

}  // namespace gearstalk
