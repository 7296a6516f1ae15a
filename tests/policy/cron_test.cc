#include "broker/policy/cron.h"

#include <gtest/gtest.h>

#include <random>

namespace gearstalk {
namespace {

// The next `count` times after `from` (local, RFC 3339 without offset), in `zone`.
std::vector<std::string> Runs(const char* expression, const char* zone_name, const char* from,
                              int count) {
  const TimeZone zone = FindTimeZone(zone_name).value();
  const Result<Cron> cron = Cron::Parse(expression);
  if (!cron.ok()) return {cron.status().message()};
  absl::Time start;
  std::string error;
  EXPECT_TRUE(absl::ParseTime("%Y-%m-%dT%H:%M:%S", from, zone, &start, &error)) << error;
  std::int64_t time = absl::ToUnixSeconds(start);
  std::vector<std::string> runs;
  for (int i = 0; i < count; ++i) {
    const auto next = cron.value().Next(time, zone);
    if (!next.has_value()) break;
    time = *next;
    runs.push_back(PrintTime(time, zone));
  }
  return runs;
}

using Texts = std::vector<std::string>;

TEST(Cron, FindsTheNextTimes) {
  EXPECT_EQ(Runs("30 2 * * *", "UTC", "2026-01-01T02:30:00", 2),
            (Texts{"2026-01-02T02:30:00+00:00", "2026-01-03T02:30:00+00:00"}));
  EXPECT_EQ(Runs("*/15 9-10 * * 1-5", "UTC", "2026-01-02T10:30:00", 3),
            (Texts{"2026-01-02T10:45:00+00:00", "2026-01-05T09:00:00+00:00",
                   "2026-01-05T09:15:00+00:00"}));
  EXPECT_EQ(Runs("10/20 * * * * *", "UTC", "2026-01-01T00:00:10", 3),
            (Texts{"2026-01-01T00:00:30+00:00", "2026-01-01T00:00:50+00:00",
                   "2026-01-01T00:01:10+00:00"}));
  EXPECT_EQ(Runs("0 0 L * *", "UTC", "2026-02-01T00:00:00", 2),
            (Texts{"2026-02-28T00:00:00+00:00", "2026-03-31T00:00:00+00:00"}));
  EXPECT_EQ(Runs("0 0 29 feb *", "UTC", "2025-01-01T00:00:00", 1),
            (Texts{"2028-02-29T00:00:00+00:00"}));
  EXPECT_EQ(Runs("@weekly", "UTC", "2026-01-01T00:00:00", 1), (Texts{"2026-01-04T00:00:00+00:00"}));
}

TEST(Cron, DayFieldsAreAlternativesUnlessOneBeginsWithAStar) {
  EXPECT_EQ(Runs("0 0 13 * fri", "UTC", "2026-01-05T00:00:00", 3),
            (Texts{"2026-01-09T00:00:00+00:00", "2026-01-13T00:00:00+00:00",
                   "2026-01-16T00:00:00+00:00"}));
  EXPECT_EQ(Runs("0 0 */13 * fri", "UTC", "2026-01-05T00:00:00", 2),
            (Texts{"2026-02-27T00:00:00+00:00", "2026-03-27T00:00:00+00:00"}));
  EXPECT_EQ(Runs("0 0 * * 7", "UTC", "2026-01-05T00:00:00", 1),
            (Texts{"2026-01-11T00:00:00+00:00"}));
}

TEST(Cron, RefusesWhatItDoesNotKnow) {
  for (const char* text :
       {"",           "* * * *",     "* * * * * * *", "60 * * * *",  "* 24 * * *",  "* * 0 * *",
        "* * 32 * *", "* * * 13 *",  "* * * * 8",     "5-1 * * * *", "*/0 * * * *", "1,,2 * * * *",
        "a * * * *",  "? * * * *",   "* * 15W * *",   "* * * * 5#2", "@reboot",     "-1 * * * *",
        "1- * * * *", "* * * FOO *", "*-5 * * * *",   "L * * * *",   "1/ * * * *"}) {
    EXPECT_FALSE(Cron::Parse(text).ok()) << text;
  }
}

TEST(Cron, SaysWhatIsMeantByEvery) {
  EXPECT_EQ(Cron::Parse("@every 15m").status().message(),
            "'@every 15m' is no cron expression: write 'every: 15m' instead of 'cron: @every 15m'");
}

TEST(Cron, WhatNeverComesHasNoNextTime) {
  EXPECT_EQ(Runs("0 0 30 2 *", "UTC", "2026-01-01T00:00:00", 1), Texts{});
  EXPECT_EQ(Runs("0 0 31 4,6,9,11 *", "Europe/Berlin", "2026-01-01T00:00:00", 1), Texts{});
}

TEST(Cron, ASkippedTimeIsDueAtTheChangeOnce) {
  EXPECT_EQ(Runs("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00", 2),
            (Texts{"2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"}));
  EXPECT_EQ(Runs("*/10 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00", 2),
            (Texts{"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"}));
  EXPECT_EQ(Runs("0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00", 2),
            (Texts{"2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"}));
  EXPECT_EQ(Runs("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00:00", 2),
            (Texts{"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"}));
  EXPECT_EQ(Runs("0 12 30 12 *", "Pacific/Apia", "2011-12-29T13:00:00", 1),
            (Texts{"2011-12-31T00:00:00+14:00"}));
  EXPECT_EQ(Runs("30 0 * 9 *", "America/Santiago", "2026-09-05T12:00:00", 2),
            (Texts{"2026-09-06T01:00:00-03:00", "2026-09-07T00:30:00-03:00"}));
}

TEST(Cron, ARepeatedTimeIsDueTheFirstTime) {
  EXPECT_EQ(Runs("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00", 2),
            (Texts{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}));
  EXPECT_EQ(Runs("30 1 * * *", "America/New_York", "2026-10-31T12:00:00", 2),
            (Texts{"2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"}));
}

TEST(Cron, ARepeatedTimeIsDueBothTimesIfTheHourBeginsWithAStar) {
  EXPECT_EQ(Runs("30 * * * *", "Europe/Berlin", "2026-10-25T01:31:00", 3),
            (Texts{"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00",
                   "2026-10-25T03:30:00+01:00"}));
  EXPECT_EQ(Runs("*/30 * * * *", "Europe/Berlin", "2026-03-29T01:30:00", 2),
            (Texts{"2026-03-29T03:00:00+02:00", "2026-03-29T03:30:00+02:00"}));
}

// An independent calculation: every second from `after` on is asked whether it is due.
std::vector<std::int64_t> BySeconds(int minute, int hour, std::int64_t after, std::int64_t end,
                                    const TimeZone& zone) {
  std::vector<std::int64_t> due;
  for (std::int64_t time = after + 1; time <= end; ++time) {
    const absl::Time at = absl::FromUnixSeconds(time);
    const CivilSecond now = zone.At(at).cs, before = zone.At(at - absl::Seconds(1)).cs;
    const auto fits = [&](CivilSecond t) {
      return t.second() == 0 && t.minute() == minute && t.hour() == hour;
    };
    bool is_due = fits(now) && absl::FromCivil(now, zone) == at;  // FromCivil: the first of two
    for (CivilSecond skipped = before + 1; skipped < now; ++skipped) is_due |= fits(skipped);
    if (is_due) due.push_back(time);
  }
  return due;
}

TEST(Cron, AgreesWithAWalkOverEverySecondOfChangingDays) {
  std::mt19937 random(7);
  for (const char* name : {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                           "America/Santiago", "Pacific/Apia"}) {
    const TimeZone zone = FindTimeZone(name).value();
    absl::Time time = absl::FromCivil(CivilSecond(2010, 1, 1), zone);
    TimeZone::CivilTransition change;
    for (int i = 0; i < 6 && zone.NextTransition(time, &change); ++i) {
      const std::int64_t moment = absl::ToUnixSeconds(zone.At(change.to).pre);
      time = absl::FromUnixSeconds(moment) + absl::Hours(48);
      const int minute = static_cast<int>(random() % 12) * 5, hour = static_cast<int>(random() % 4);
      const std::int64_t begin = moment - 6 * 3'600, end = moment + 6 * 3'600;
      std::vector<std::int64_t> due;
      const Cron cron =
          Cron::Parse(std::to_string(minute) + " " + std::to_string(hour) + " * * *").value();
      for (auto next = cron.Next(begin, zone); *next <= end; next = cron.Next(*next, zone)) {
        due.push_back(*next);
      }
      EXPECT_EQ(due, BySeconds(minute, hour, begin, end, zone))
          << name << " " << change.from << " " << hour << ":" << minute;
    }
  }
}

TEST(Cron, SchedFieldsCountWeekdaysFromMonday) {
  const TimeZone utc = FindTimeZone("UTC").value();
  const auto next = [&](const Cron::SchedFields& fields) {
    const Result<Cron> cron = Cron::ParseSched(fields);
    return cron.ok() ? PrintTime(*cron.value().Next(1'767'225'600, utc), utc) : "refused";
  };
  // 1767225600 is Thursday, 2026-01-01T00:00:00Z.
  EXPECT_EQ(next({"30", "4", "", "", "0"}), "2026-01-05T04:30:00+00:00");
  EXPECT_EQ(next({"30", "4", "", "", "6"}), "2026-01-04T04:30:00+00:00");
  EXPECT_EQ(next({"", "", "", "", ""}), "2026-01-01T00:01:00+00:00");
  EXPECT_EQ(next({"0", "0", "2", "", ""}), "2026-01-02T00:00:00+00:00");
  EXPECT_EQ(next({"0", "0", "", "", "7"}), "refused");
  EXPECT_EQ(next({"0", "0", "", "JAN", ""}), "refused");
  EXPECT_EQ(next({"0", "0", "L", "", ""}), "refused");
}

}  // namespace
}  // namespace gearstalk
