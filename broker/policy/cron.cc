#include "broker/policy/cron.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "broker/base/split.h"

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

constexpr std::string_view kMonths[] = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                        "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::string_view kWeekdays[] = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};

struct Field {
  std::string_view name;
  int least, most;
  std::span<const std::string_view> words = {};  // for `least` and what follows
  bool last = false;                             // "L" is taken
};

constexpr Field kSecondField{"seconds", 0, 59};
constexpr Field kMinuteField{"minute", 0, 59};
constexpr Field kHourField{"hour", 0, 23};
constexpr Field kDayField{"day-of-month", 1, 31, {}, true};
constexpr Field kMonthField{"month", 1, 12, kMonths};
constexpr Field kWeekdayField{"day-of-week", 0, 7, kWeekdays};
// Of SUBMIT_JOB_SCHED.
constexpr Field kSchedDay{"day of month", 1, 31};
constexpr Field kSchedMonth{"month", 1, 12};
constexpr Field kSchedWeekday{"day of week", 0, 6};

struct Macro {
  std::string_view name, expression;
};
constexpr Macro kMacros[] = {{"@yearly", "0 0 1 1 *"},  {"@annually", "0 0 1 1 *"},
                             {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
                             {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
                             {"@hourly", "0 * * * *"}};

bool EqualWords(std::string_view a, std::string_view b) {
  const auto upper = [](unsigned char c) { return std::toupper(c); };
  return std::ranges::equal(a, b, {}, upper, upper);
}

bool ParseValue(const Field& field, std::string_view text, int& value) {
  for (std::size_t i = 0; i < field.words.size(); ++i) {
    if (!EqualWords(field.words[i], text)) continue;
    value = field.least + static_cast<int>(i);
    return true;
  }
  return ParseNumber(text, value) && value >= field.least && value <= field.most;
}

// "*", "n", "a-b", each with "/s" or without; adds to the set.
bool ParsePart(const Field& field, std::string_view text, std::uint64_t& set) {
  const std::size_t slash = text.find('/');
  int step = 1;
  if (slash != std::string_view::npos && (!ParseNumber(text.substr(slash + 1), step) || step < 1)) {
    return false;
  }
  const std::string_view range = text.substr(0, slash);
  const std::size_t dash = range.find('-');
  int first = field.least, last = field.most;
  if (range != "*") {
    if (!ParseValue(field, range.substr(0, dash), first)) return false;
    if (dash == std::string_view::npos) {
      last = slash == std::string_view::npos ? first : field.most;
    } else if (!ParseValue(field, range.substr(dash + 1), last) || first > last) {
      return false;
    }
  }
  for (int value = first; value <= last; value += std::min(step, 64)) {
    set |= std::uint64_t{1} << value;
  }
  return true;
}

Status BadField(const Field& field, std::string_view text) {
  return {Code::kInvalid, fmt::format("bad {} '{}': expected *, numbers from {} to {}, ranges a-b "
                                      "and steps /s, with commas between them",
                                      field.name, text, field.least, field.most)};
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

// Reads cron expressions.

class CronParser {
 public:
  std::uint64_t Set(const Field& field, std::string_view text) {
    std::uint64_t set = 0;
    for (const std::string_view part : Split(text, ',')) {
      if (field.last && EqualWords(part, "L")) {
        cron_.last_day_ = true;
      } else if (status_.ok() && !ParsePart(field, part, set)) {
        status_ = BadField(field, text);
      }
    }
    return set;
  }

  void Time(std::string_view second, std::string_view minute, std::string_view hour) {
    cron_.seconds_ = Set(kSecondField, second);
    cron_.minutes_ = Set(kMinuteField, minute);
    cron_.hours_ = static_cast<std::uint32_t>(Set(kHourField, hour));
    cron_.any_hour_ = hour.starts_with('*');
  }

  void Day(std::uint64_t days, std::uint64_t months, std::uint64_t weekdays) {
    cron_.days_ = static_cast<std::uint32_t>(days);
    cron_.months_ = static_cast<std::uint16_t>(months);
    cron_.weekdays_ = static_cast<std::uint8_t>(weekdays | (weekdays >> 7 & 1));
  }

  void Any(std::string_view day, std::string_view weekday) {
    cron_.any_day_ = day.starts_with('*');
    cron_.any_weekday_ = weekday.starts_with('*');
  }

  Result<Cron> Done() const {
    if (!status_.ok()) return status_;
    return cron_;
  }

 private:
  Cron cron_;
  Status status_;
};

Result<Cron> Cron::Parse(std::string_view text) {
  std::vector<std::string_view> words = SplitWords(text, " \t");
  if (words.size() == 1) {
    for (const Macro& macro : kMacros) {
      if (EqualWords(macro.name, words[0])) return Parse(macro.expression);
    }
  }
  if (!words.empty() && EqualWords(words[0], "@every")) {
    return Status(Code::kInvalid, fmt::format("'{}' is no cron expression: write 'every: 15m' "
                                              "instead of 'cron: @every 15m'",
                                              text));
  }
  if (words.size() == 5) words.insert(words.begin(), "0");
  if (words.size() != 6) {
    return Status(Code::kInvalid,
                  fmt::format("expected 'minute hour day-of-month month day-of-week', six fields "
                              "with seconds first, or a word such as @daily; found '{}'",
                              text));
  }
  CronParser parser;
  parser.Time(words[0], words[1], words[2]);
  parser.Day(parser.Set(kDayField, words[3]), parser.Set(kMonthField, words[4]),
             parser.Set(kWeekdayField, words[5]));
  parser.Any(words[3], words[5]);
  return parser.Done();
}

Result<Cron> Cron::ParseSched(const SchedFields& fields) {
  const auto or_any = [](std::string_view field) { return field.empty() ? "*" : field; };
  const std::string_view day = or_any(fields.day), weekday = or_any(fields.weekday);
  CronParser parser;
  parser.Time("0", or_any(fields.minute), or_any(fields.hour));
  const std::uint64_t from_monday = parser.Set(kSchedWeekday, weekday);
  parser.Day(parser.Set(kSchedDay, day), parser.Set(kSchedMonth, or_any(fields.month)),
             from_monday << 1);
  parser.Any(day, weekday);
  return parser.Done();
}

}  // namespace gearstalk
