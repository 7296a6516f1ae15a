#include "broker/policy/duration.h"

#include <gtest/gtest.h>

namespace gearstalk {
namespace {

TEST(Duration, IsANumberWithAUnit) {
  EXPECT_EQ(ParseDuration("250ms"), 250 * kMillisecond);
  EXPECT_EQ(ParseDuration("30s"), 30 * kSecond);
  EXPECT_EQ(ParseDuration("10m"), 600 * kSecond);
  EXPECT_EQ(ParseDuration("24h"), kDay);
  EXPECT_EQ(ParseDuration("7d"), 7 * kDay);
  EXPECT_EQ(ParseDuration("3650d"), kLongestDuration);
}

TEST(Duration, WithoutAUnitIsSeconds) {
  EXPECT_EQ(ParseDuration("90"), 90 * kSecond);
  EXPECT_EQ(ParseDuration("0"), 0);
}

TEST(Duration, RefusesAnythingElse) {
  for (const char* text : {"", "s", "-1", "1.5s", "1 s", "1S", "1w", "3651d", "315360001",
                           "99999999999999999999", "1sm"}) {
    EXPECT_EQ(ParseDuration(text), std::nullopt) << text;
  }
}

TEST(Duration, IsPrintedInTheLargestUnitThatDividesIt) {
  EXPECT_EQ(PrintDuration(0), "0");
  EXPECT_EQ(PrintDuration(90 * kSecond), "90s");
  EXPECT_EQ(PrintDuration(3'600 * kSecond), "1h");
  EXPECT_EQ(PrintDuration(kDay), "1d");
  EXPECT_EQ(PrintDuration(1'500 * kMillisecond), "1500ms");
}

}  // namespace
}  // namespace gearstalk
