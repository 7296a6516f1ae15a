#include "broker/replica/clock_skew.h"

#include <gtest/gtest.h>

namespace gearstalk {
namespace {

constexpr Time kHour = 3600 * kSecond;

TEST(ClockSkew, IsWhatPartsShow) {
  ClockSkew skew;
  EXPECT_EQ(skew.ahead(), 0);
  skew.OnPart(-kHour, 0);
  EXPECT_EQ(skew.ahead(), -kHour);
  skew.OnPart(kHour, kMillisecond);
  EXPECT_EQ(skew.ahead(), kHour);
}

TEST(ClockSkew, PartsThatComeLateMakeNone) {
  ClockSkew skew;
  skew.OnPart(-kMillisecond, 0);
  // All of what came while this process was stopped.
  for (int i = 5; i > 0; --i) skew.OnPart(-i * kSecond, 10 * kSecond);
  EXPECT_EQ(skew.ahead(), -kMillisecond);
  skew.OnPart(-2 * kMillisecond, 20 * kSecond);
  EXPECT_EQ(skew.ahead(), -2 * kMillisecond);
}

TEST(ClockSkew, AClockThatIsSetBackIsSeenInTheSecondSecond) {
  ClockSkew skew;
  skew.OnPart(0, 0);
  skew.OnPart(-kHour, kSecond);
  EXPECT_EQ(skew.ahead(), 0);
  skew.OnPart(-kHour, 2 * kSecond);
  EXPECT_EQ(skew.ahead(), -kHour);
}

TEST(ClockSkew, OfAnotherBrokerBeginsAnew) {
  ClockSkew skew;
  skew.OnPart(kHour, 0);
  skew.Forget();
  EXPECT_EQ(skew.ahead(), 0);
  skew.OnPart(-kSecond, kMillisecond);
  EXPECT_EQ(skew.ahead(), -kSecond);
}

}  // namespace
}  // namespace gearstalk
