#include "broker/policy/schedule.h"

#include <gtest/gtest.h>

namespace gearstalk {
namespace {

TEST(Schedule, EveryRunsAtTheMultiplesSince1970) {
  const auto plan = Plan::Of({.name = "a", .every = 90 * kSecond}, "UTC");
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan.value().Next(0), 90 * kSecond);
  EXPECT_EQ(plan.value().Next(90 * kSecond), 180 * kSecond);
  EXPECT_EQ(plan.value().Next(179 * kSecond), 180 * kSecond);
}

TEST(Schedule, TimesThatPassedAreCountedAndTheLastOneIsFound) {
  const auto passed = [](const Schedule& schedule, Time first, Time until) {
    const Plan plan = Plan::Of(schedule, "UTC").value();
    const Plan::Passed found = plan.PassedBy(until * kSecond, first * kSecond);
    return std::pair(found.last / kSecond, found.before);
  };
  using Found = std::pair<Time, std::uint64_t>;
  EXPECT_EQ(Found(60, 0), passed({.every = 60 * kSecond}, 60, 119));
  EXPECT_EQ(Found(120, 1), passed({.every = 60 * kSecond}, 60, 120));
  EXPECT_EQ(Found(315'360'000, 315'359'999), passed({.every = kSecond}, 1, 315'360'000));
  EXPECT_EQ(Found(60, 0), passed({.cron = "* * * * *"}, 60, 119));
  EXPECT_EQ(Found(180, 2), passed({.cron = "* * * * *"}, 60, 239));
  // 10 years later, on a Thursday.
  EXPECT_EQ(Found(315'360'000 - 60, Plan::kCounted),
            passed({.cron = "* * * * *"}, 60, 315'360'000 - 1));
  EXPECT_EQ(Found(315'360'000 - 4 * 86'400 - 1, Plan::kCounted),
            passed({.cron = "* * * * * TUE"}, 60 + 5 * 86'400, 315'360'000 + 1 - 86'400));
}

TEST(Schedule, ItsOwnZoneCountsBeforeTheOption) {
  const Schedule schedule{.name = "a", .cron = "0 12 * * *", .time_zone = "America/New_York"};
  const auto plan = Plan::Of(schedule, "Europe/Berlin");
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(PrintTime(plan.value().Next(1'700'000'000 * kSecond) / kSecond, plan.value().zone()),
            "2023-11-15T12:00:00-05:00");
}

TEST(Schedule, OneThatNeverComesIsAnError) {
  EXPECT_FALSE(Plan::Of({.name = "a", .cron = "0 0 30 2 *"}, "UTC").ok());
  EXPECT_TRUE(Plan::Of({.name = "a", .cron = "0 0 29 2 *"}, "UTC").ok());
  EXPECT_FALSE(Plan::Of({.name = "a", .cron = "0 0 * * *"}, "Mars/Base").ok());
}

TEST(Schedule, BodiesNameThePlannedTime) {
  const TimeZone zone = FindTimeZone("Europe/Berlin").value();
  const Schedule schedule{.name = "n", .body = "{name} {time} {epoch} {other} {{name}}"};
  EXPECT_EQ(ScheduledBody(schedule, 1'700'000'000 * kSecond, zone),
            "n 2023-11-14T23:13:20+01:00 1700000000 {other} {n}");
}

TEST(TimeZone, IsANameAndNeverAPath) {
  EXPECT_TRUE(FindTimeZone("UTC").ok());
  EXPECT_TRUE(FindTimeZone("America/Argentina/Buenos_Aires").ok());
  for (const char* name : {"", "/etc/localtime", "../UTC", "file:UTC", "libc:localtime",
                           "Europe//Berlin", "Europe/", "Nowhere/None"}) {
    EXPECT_FALSE(FindTimeZone(name).ok()) << name;
  }
}

}  // namespace
}  // namespace gearstalk
