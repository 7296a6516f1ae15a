// The rules of an interrupted take-over, one by one.

#include "admin/ctl/settle.h"

#include <gtest/gtest.h>

namespace gearstalk::ctl {
namespace {

using transfer::JobState;
using State = OldJob::State;

constexpr SettleFacts Held(std::uint32_t phase, JobState was = JobState::kReady) {
  return {.phase = phase, .was = was, .reserves = 3, .buries = 1};
}

TEST(Settle, WaitsWhileTheDeadConnectionHasTheJob) {
  for (const std::uint32_t phase : {1U, 2U}) {
    EXPECT_EQ(Settle(Held(phase), {State::kReserved, 4, 1}), Settlement::kWait);
  }
}

TEST(Settle, TheConnectionsOfAnotherLifeAreGone) {
  for (const std::uint32_t phase : {1U, 2U}) {
    SettleFacts held = Held(phase);
    held.same_server = false;
    EXPECT_EQ(Settle(held, {State::kReserved, 4, 1}), Settlement::kDrop);
  }
}

TEST(Settle, PhaseOneGoesOnWithOurMarkOnly) {
  EXPECT_EQ(Settle(Held(1), {State::kBuried, 4, 2}), Settlement::kGoOn);
  EXPECT_EQ(Settle(Held(1), {State::kBuried, 5, 2}), Settlement::kDrop);
  EXPECT_EQ(Settle(Held(1), {State::kBuried, 4, 1}), Settlement::kDrop);
  EXPECT_EQ(Settle(Held(1), {State::kReady, 4, 1}), Settlement::kDrop);
  EXPECT_EQ(Settle(Held(1), {State::kReserved, 5, 1}), Settlement::kDrop);
  EXPECT_EQ(Settle(Held(1), {State::kGone, 0, 0}), Settlement::kDrop);
}

TEST(Settle, PhaseTwoIsOursWhenItIsGone) {
  EXPECT_EQ(Settle(Held(2), {State::kGone, 0, 0}), Settlement::kCommit);
  EXPECT_EQ(Settle(Held(2), {State::kBuried, 4, 2}), Settlement::kDelete);
  EXPECT_EQ(Settle(Held(2), {State::kReady, 3, 1}), Settlement::kDelete);
  EXPECT_EQ(Settle(Held(2), {State::kReserved, 5, 1}), Settlement::kDrop);
  EXPECT_EQ(Settle(Held(2), {State::kReady, 6, 2}), Settlement::kDrop);
}

TEST(Settle, DelayedJobsAreUncertainWhenTheyFellDue) {
  SettleFacts held = Held(2, JobState::kDelayed);
  EXPECT_EQ(Settle(held, {State::kDelayed, 3, 1}), Settlement::kDelete);
  EXPECT_EQ(Settle(held, {State::kGone, 0, 0}), Settlement::kCommit);
  held.due = true;
  EXPECT_EQ(Settle(held, {State::kGone, 0, 0}), Settlement::kCommitUncertain);
  EXPECT_EQ(Settle(held, {State::kReady, 3, 1}), Settlement::kDrop);
}

TEST(Settle, BuriedJobsAreDeletedAsTheyLie) {
  EXPECT_EQ(Settle(Held(2, JobState::kBuried), {State::kBuried, 3, 1}), Settlement::kDelete);
  EXPECT_EQ(Settle(Held(2, JobState::kBuried), {State::kReady, 3, 1}), Settlement::kDrop);
}

TEST(Settle, WhatAServerWithoutALogLostIsOurs) {
  SettleFacts held = Held(1);
  held.server_lost_all = true;
  EXPECT_EQ(Settle(held, {State::kGone, 0, 0}), Settlement::kCommit);
  held.connected = false;
  EXPECT_EQ(Settle(held, {State::kGone, 0, 0}), Settlement::kCommitUncertain);
}

// beanstalkd counts a bury more for each start.
TEST(Settle, OurMarkOutlivesRestartsOfTheOldServer) {
  EXPECT_EQ(Settle(Held(1), {State::kBuried, 4, 3}), Settlement::kGoOn);
  EXPECT_EQ(Settle(Held(2), {State::kBuried, 4, 5}), Settlement::kDelete);
}

TEST(SettleHandle, AJobThatIsKnownComesAgain) {
  EXPECT_EQ(SettleHandle({.known = true}), Settlement::kDrop);
  EXPECT_EQ(SettleHandle({.known = true, .shared = true}), Settlement::kDrop);
}

TEST(SettleHandle, AJobThatIsGoneIsOurs) {
  EXPECT_EQ(SettleHandle({}), Settlement::kCommit);
  EXPECT_EQ(SettleHandle({.shared = true}), Settlement::kCommitUncertain);
}

TEST(SettleHandle, AnotherProcessMeansOtherJobsByItsHandles) {
  EXPECT_EQ(SettleHandle({.same_server = false, .known = true}), Settlement::kCommitUncertain);
  EXPECT_EQ(SettleHandle({.same_server = false}), Settlement::kCommitUncertain);
}

}  // namespace
}  // namespace gearstalk::ctl
