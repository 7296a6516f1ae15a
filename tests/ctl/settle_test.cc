// The rules of an interrupted take-over, one by one.

#include "admin/move/settle.h"

#include <gtest/gtest.h>

namespace gearstalk::ctl {
namespace {

using Phase = Record::Held;
using Was = Record::State;
using State = OldJob::State;

constexpr SettleFacts Held(Phase phase, Was was = Was::kReady) {
  return {.phase = phase, .was = was, .reserves = 3, .buries = 1};
}

TEST(Settle, WaitsWhileTheDeadConnectionHasTheJob) {
  for (const Phase phase : {Phase::kFirstPhase, Phase::kSecondPhase}) {
    EXPECT_EQ(Settle(Held(phase), {State::kReserved, 4, 1}), Settlement::kWait);
  }
}

TEST(Settle, TheConnectionsOfAnotherLifeAreGone) {
  for (const Phase phase : {Phase::kFirstPhase, Phase::kSecondPhase}) {
    SettleFacts held = Held(phase);
    held.same_server = false;
    EXPECT_EQ(Settle(held, {State::kReserved, 4, 1}), Settlement::kDrop);
  }
}

TEST(Settle, PhaseOneGoesOnWithOurMarkOnly) {
  EXPECT_EQ(Settle(Held(Phase::kFirstPhase), {State::kBuried, 4, 2}), Settlement::kGoOn);
  EXPECT_EQ(Settle(Held(Phase::kFirstPhase), {State::kBuried, 5, 2}), Settlement::kDrop);
  EXPECT_EQ(Settle(Held(Phase::kFirstPhase), {State::kBuried, 4, 1}), Settlement::kDrop);
  EXPECT_EQ(Settle(Held(Phase::kFirstPhase), {State::kReady, 4, 1}), Settlement::kDrop);
  EXPECT_EQ(Settle(Held(Phase::kFirstPhase), {State::kReserved, 5, 1}), Settlement::kDrop);
  EXPECT_EQ(Settle(Held(Phase::kFirstPhase), {State::kGone, 0, 0}), Settlement::kDrop);
}

TEST(Settle, PhaseTwoIsOursWhenItIsGone) {
  EXPECT_EQ(Settle(Held(Phase::kSecondPhase), {State::kGone, 0, 0}), Settlement::kCommit);
  EXPECT_EQ(Settle(Held(Phase::kSecondPhase), {State::kBuried, 4, 2}), Settlement::kDelete);
  EXPECT_EQ(Settle(Held(Phase::kSecondPhase), {State::kReady, 3, 1}), Settlement::kDelete);
  EXPECT_EQ(Settle(Held(Phase::kSecondPhase), {State::kReserved, 5, 1}), Settlement::kDrop);
  EXPECT_EQ(Settle(Held(Phase::kSecondPhase), {State::kReady, 6, 2}), Settlement::kDrop);
}

TEST(Settle, DelayedJobsAreUncertainWhenTheyFellDue) {
  SettleFacts held = Held(Phase::kSecondPhase, Was::kDelayed);
  EXPECT_EQ(Settle(held, {State::kDelayed, 3, 1}), Settlement::kDelete);
  EXPECT_EQ(Settle(held, {State::kGone, 0, 0}), Settlement::kCommit);
  held.due = true;
  EXPECT_EQ(Settle(held, {State::kGone, 0, 0}), Settlement::kCommitUncertain);
  EXPECT_EQ(Settle(held, {State::kReady, 3, 1}), Settlement::kDrop);
}

TEST(Settle, BuriedJobsAreDeletedAsTheyLie) {
  EXPECT_EQ(Settle(Held(Phase::kSecondPhase, Was::kBuried), {State::kBuried, 3, 1}),
            Settlement::kDelete);
  EXPECT_EQ(Settle(Held(Phase::kSecondPhase, Was::kBuried), {State::kReady, 3, 1}),
            Settlement::kDrop);
}

TEST(Settle, WhatAServerWithoutALogLostIsOurs) {
  SettleFacts held = Held(Phase::kFirstPhase);
  held.server_lost_all = true;
  EXPECT_EQ(Settle(held, {State::kGone, 0, 0}), Settlement::kCommit);
  held.connected = false;
  EXPECT_EQ(Settle(held, {State::kGone, 0, 0}), Settlement::kCommitUncertain);
}

// beanstalkd counts a bury more for each start.
TEST(Settle, OurMarkOutlivesRestartsOfTheOldServer) {
  EXPECT_EQ(Settle(Held(Phase::kFirstPhase), {State::kBuried, 4, 3}), Settlement::kGoOn);
  EXPECT_EQ(Settle(Held(Phase::kSecondPhase), {State::kBuried, 4, 5}), Settlement::kDelete);
}

TEST(SettleHandle, AJobThatIsKnownComesAgain) {
  EXPECT_EQ(SettleHandle({.known = true}), Settlement::kDrop);
  EXPECT_EQ(SettleHandle({.known = true, .shared = true}), Settlement::kDrop);
}

TEST(SettleHandle, AJobThatIsGoneIsOurs) {
  EXPECT_EQ(SettleHandle({}), Settlement::kCommit);
  EXPECT_EQ(SettleHandle({.shared = true}), Settlement::kCommitUncertain);
}

TEST(SettleHandle, AnotherLifeMeansOtherJobsByItsHandles) {
  EXPECT_EQ(SettleHandle({.same_life = false, .known = true}), Settlement::kCommitUncertain);
  EXPECT_EQ(SettleHandle({.same_life = false}), Settlement::kCommitUncertain);
}

}  // namespace
}  // namespace gearstalk::ctl
