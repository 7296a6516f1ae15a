#include "broker/engine/deadlines.h"

#include <gtest/gtest.h>

namespace gearstalk {
namespace {

struct TestTimer : Timer {
  TestTimer() : Timer(Kind::kTube) {}
};

TEST(Deadlines, NothingIsDueBeforeItsTime) {
  Deadlines deadlines;
  TestTimer timer;
  EXPECT_EQ(kNever, deadlines.next());
  deadlines.Arm(timer, 10);
  EXPECT_EQ(10, deadlines.next());
  EXPECT_EQ(nullptr, deadlines.PopDue(9));
  EXPECT_EQ(&timer, deadlines.PopDue(10));
  EXPECT_EQ(nullptr, deadlines.PopDue(10));
}

TEST(Deadlines, ALaterTimeLeavesTheEarlierOneArmed) {
  Deadlines deadlines;
  TestTimer timer;
  deadlines.Arm(timer, 10);
  deadlines.Arm(timer, 20);
  EXPECT_EQ(10, deadlines.next());
  deadlines.Arm(timer, 5);
  EXPECT_EQ(5, deadlines.next());
}

TEST(Deadlines, NeverArmsNothing) {
  Deadlines deadlines;
  TestTimer timer;
  deadlines.Arm(timer, kNever);
  EXPECT_EQ(nullptr, deadlines.PopDue(kNever - 1));
}

TEST(Deadlines, CancelledTimersDoNotComeUp) {
  Deadlines deadlines;
  TestTimer first, second;
  deadlines.Arm(first, 1);
  deadlines.Arm(second, 2);
  deadlines.Cancel(first);
  deadlines.Cancel(first);
  EXPECT_EQ(&second, deadlines.PopDue(5));
}

TEST(Deadlines, DueTimersComeInTheOrderOfTheirTimes) {
  Deadlines deadlines;
  TestTimer timers[3];
  deadlines.Arm(timers[0], 30);
  deadlines.Arm(timers[1], 10);
  deadlines.Arm(timers[2], 20);
  EXPECT_EQ(&timers[1], deadlines.PopDue(100));
  EXPECT_EQ(&timers[2], deadlines.PopDue(100));
  EXPECT_EQ(&timers[0], deadlines.PopDue(100));
}

}  // namespace
}  // namespace gearstalk
