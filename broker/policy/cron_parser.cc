// Reads cron expressions.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <vector>

#include "broker/base/split.h"
#include "broker/policy/cron.h"

namespace gearstalk {
namespace {

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
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::toupper(x) == std::toupper(y);
  });
}

bool ParseNumber(std::string_view text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0;
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
