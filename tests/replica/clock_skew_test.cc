#include "broker/replica/clock_skew.h"

#include <gtest/gtest.h>

namespace gearstalk {
namespace {

constexpr Time kHour = 3600 * kSecond;

constexpr Time kLook = 500 * kMillisecond;  // before the part was written

TEST(ClockSkew, IsWhatPartsShow) {
  ClockSkew skew;
  EXPECT_EQ(skew.ahead(), 0);
  skew.OnPart(-kHour, -kHour + kLook, 0);
  EXPECT_EQ(skew.ahead(), -kHour + kLook);
  skew.OnPart(kHour, kHour + kLook, kMillisecond);
  EXPECT_EQ(skew.ahead(), kHour);
}

TEST(ClockSkew, PartsThatComeLateMakeNone) {
  ClockSkew skew;
  for (int second = 0; second < 10; ++second) {
    skew.OnPart(-5 * kSecond, std::nullopt, second * kSecond);
    EXPECT_EQ(skew.ahead(), 0);
    skew.OnPart(-5 * kSecond, kLook, second * kSecond + kMillisecond);
    EXPECT_EQ(skew.ahead(), 0);
  }
}

// It was made before the look that does not show it.
TEST(ClockSkew, APartThatWaitedForTheStoreMakesNone) {
  ClockSkew skew;
  skew.OnPart(-kMillisecond, kLook, 0);
  skew.OnPart(-5 * kSecond, -4 * kSecond, kSecond);
  EXPECT_EQ(skew.ahead(), 0);
}

TEST(ClockSkew, AClockThatIsSetBackIsSeenInTheSecondSecond) {
  ClockSkew skew;
  skew.OnPart(0, kLook, 0);
  skew.OnPart(-kHour, -kHour + kLook, kSecond);
  EXPECT_EQ(skew.ahead(), 0);
  skew.OnPart(-kHour, -kHour + kLook, 2 * kSecond);
  EXPECT_EQ(skew.ahead(), -kHour + kLook);
}

TEST(ClockSkew, OfAnotherBrokerBeginsAnew) {
  ClockSkew skew;
  skew.OnPart(kHour, kHour + kLook, 0);
  skew.Forget();
  EXPECT_EQ(skew.ahead(), 0);
  skew.OnPart(-kHour, -kHour + kLook, kMillisecond);
  EXPECT_EQ(skew.ahead(), -kHour + kLook);
}

}  // namespace
}  // namespace gearstalk
