// Priorities of jobs that a gearmand gave out, from its counts before and after.

#include <gtest/gtest.h>

#include "admin/move/takeover/gearman_table.h"

namespace gearstalk::ctl {
namespace {

constexpr bool kNoneNew = true;

TEST(ClassGuess, TheCountsLeaveOneAnswer) {
  const ClassGuess guess = GuessClasses({2, 3, 4, 1}, {0, 0, 1, 1}, 8, !kNoneNew);
  EXPECT_TRUE(guess.exact);
  EXPECT_EQ(guess.ClassOf(1), 0);
  EXPECT_EQ(guess.ClassOf(2), 1);
  EXPECT_EQ(guess.ClassOf(4), 1);
  EXPECT_EQ(guess.ClassOf(5), 2);
}

TEST(ClassGuess, JobsThatCameMeanwhileAndStayedDoNotMatter) {
  const ClassGuess guess = GuessClasses({2, 3, 4, 1}, {1, 5, 4, 1}, 4, kNoneNew);
  EXPECT_TRUE(guess.exact);
  EXPECT_EQ(guess.high, 2u);
  EXPECT_EQ(guess.normal, 2u);
}

TEST(ClassGuess, ANewJobAmongThoseGrabbedMakesItAGuess) {
  const ClassGuess guess = GuessClasses({0, 3, 0, 1}, {0, 0, 0, 1}, 4, !kNoneNew);
  EXPECT_FALSE(guess.exact);
  EXPECT_EQ(guess.ClassOf(3), 1);
}

TEST(ClassGuess, AnotherWorkerMakesItAGuess) {
  EXPECT_FALSE(GuessClasses({0, 3, 0, 2}, {0, 0, 0, 1}, 3, kNoneNew).exact);
  EXPECT_FALSE(GuessClasses({0, 3, 0, 1}, {0, 0, 0, 2}, 3, kNoneNew).exact);
}

TEST(ClassGuess, FewerJobsLeftThanWereGrabbed) {
  // One of the HIGH jobs is gone, and not to us.
  EXPECT_FALSE(GuessClasses({2, 3, 0, 1}, {0, 2, 0, 1}, 2, kNoneNew).exact);
}

TEST(ClassGuess, WithoutCountsAllIsNormal) {
  const ClassGuess guess = GuessClasses({}, {}, 2, kNoneNew);
  EXPECT_FALSE(guess.exact);
  EXPECT_EQ(guess.ClassOf(0), 1);
  EXPECT_EQ(guess.ClassOf(1), 1);
}

TEST(Handle, HasANumberBehindTheLastColon) {
  Handle handle;
  EXPECT_TRUE(Handle::Parse("H:a:b:17", handle));
  EXPECT_EQ(handle.prefix, "H:a:b:");
  EXPECT_EQ(handle.number, 17u);
  EXPECT_FALSE(Handle::Parse("H:a:", handle));
  EXPECT_FALSE(Handle::Parse("17", handle));
  EXPECT_FALSE(Handle::Parse("H:a:1x", handle));
}

}  // namespace
}  // namespace gearstalk::ctl
