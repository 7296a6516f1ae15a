#include "broker/replica/reign.h"

#include <gtest/gtest.h>

#include "broker/replica/log_store.h"

namespace gearstalk {
namespace {

constexpr Time kLease = 2 * kSecond;
constexpr Time kMs = kMillisecond;

TEST(Tenure, EndsALeaseLessTheMarginAfterTheConfirmedBeatWasSent) {
  Tenure tenure(kLease, 10 * kSecond);
  EXPECT_EQ(tenure.deadline(), 10 * kSecond + 1800 * kMs);
  EXPECT_EQ(tenure.At(tenure.deadline() - 1), Tenure::State::kActive);
  EXPECT_EQ(tenure.At(tenure.deadline()), Tenure::State::kSuspended);
  EXPECT_EQ(tenure.At(tenure.deadline() + kLease - 1), Tenure::State::kSuspended);
  EXPECT_EQ(tenure.At(tenure.deadline() + kLease), Tenure::State::kIsolated);
  tenure.Confirm(20 * kSecond);
  EXPECT_EQ(tenure.deadline(), 21800 * kMs);
}

TEST(Tenure, TheMarginIsAtLeast200Milliseconds) {
  EXPECT_EQ(Tenure(500 * kMs, 0).deadline(), 300 * kMs);
  EXPECT_EQ(Tenure(60 * kSecond, 0).deadline(), 54 * kSecond);
}

TEST(Tenure, AnAnswerThatComesLateMovesNothingBack) {
  Tenure tenure(kLease, 10 * kSecond);
  tenure.Confirm(12 * kSecond);
  tenure.Confirm(11 * kSecond);
  EXPECT_EQ(tenure.deadline(), 13800 * kMs);
}

TEST(Tenure, BeatsEveryQuarterOfTheLease) {
  Tenure tenure(kLease, 10 * kSecond);
  EXPECT_EQ(tenure.next_beat(), 10500 * kMs);
  tenure.NoteBeat(10510 * kMs);
  EXPECT_EQ(tenure.next_beat(), 11010 * kMs);
}

// Looks every 50 ms from `from` on, as long as `until`.
void Look(Silence& silence, Time from, Time until) {
  for (Time now = from; now <= until; now += 50 * kMs) silence.OnLook(now);
}

TEST(Silence, IsOverAtOnceWhereNobodyLeads) {
  Silence silence;
  silence.OnReign(true, kLease, 5 * kSecond);
  EXPECT_TRUE(silence.MayAcquire(5 * kSecond));
}

TEST(Silence, LastsALeaseOfTheLeaderFromWhenTheBeatWasReceived) {
  Silence silence;
  silence.OnReign(false, kLease, kSecond);
  silence.OnBeat(10 * kSecond);
  EXPECT_FALSE(silence.MustLook(10 * kSecond + 499 * kMs));
  EXPECT_TRUE(silence.MustLook(10 * kSecond + 500 * kMs));
  Look(silence, 10500 * kMs, 12 * kSecond);
  EXPECT_FALSE(silence.MayAcquire(12 * kSecond - 1));
  EXPECT_TRUE(silence.MayAcquire(12 * kSecond));
}

TEST(Silence, NeedsLooksThatWereAnsweredForAQuarterOfTheLease) {
  Silence silence;
  silence.OnReign(false, kLease, 10 * kSecond);
  EXPECT_FALSE(silence.MayAcquire(20 * kSecond)) << "the store did not answer";
  Look(silence, 20 * kSecond, 20400 * kMs);
  EXPECT_FALSE(silence.MayAcquire(20400 * kMs)) << "it answers again, but not for long enough";
  Look(silence, 20450 * kMs, 20500 * kMs);
  EXPECT_TRUE(silence.MayAcquire(20500 * kMs));
  EXPECT_FALSE(silence.MayAcquire(21100 * kMs)) << "the looks have stopped";
}

TEST(Silence, ABeatAfterAPauseOfTheStoreKeepsTheLeader) {
  Silence silence;
  silence.OnReign(false, kLease, 10 * kSecond);
  Look(silence, 20 * kSecond, 20450 * kMs);
  silence.OnBeat(20460 * kMs);
  Look(silence, 20500 * kMs, 22400 * kMs);
  EXPECT_FALSE(silence.MayAcquire(22400 * kMs));
  silence.OnLook(22450 * kMs);
  EXPECT_TRUE(silence.MayAcquire(22460 * kMs));
}

TEST(Silence, WaitsTwoLeasesWhenTheStoreHadNoSpaceForTheAcquire) {
  Silence silence;
  silence.OnReign(false, kLease, 10 * kSecond);
  Look(silence, 10500 * kMs, 12 * kSecond);
  ASSERT_TRUE(silence.MayAcquire(12 * kSecond));
  silence.OnRefused(12 * kSecond);
  Look(silence, 12050 * kMs, 16 * kSecond);
  EXPECT_FALSE(silence.MayAcquire(16 * kSecond - 1));
  EXPECT_TRUE(silence.MayAcquire(16 * kSecond));
}

// Whatever the delays are: the deadline of the old broker lies before the first moment at which a
// standby may acquire.
TEST(Silence, NoStandbyMayAcquireBeforeTheDeadline) {
  for (Time lease = 500 * kMs; lease <= 60 * kSecond; lease += 700 * kMs) {
    for (Time delay = 0; delay <= 3 * lease; delay += lease / 7) {
      const Time sent = 100 * kSecond;
      Tenure tenure(lease, sent);
      Silence silence;
      silence.OnReign(false, lease, sent + delay);
      Time now = sent + delay;
      for (; !silence.MayAcquire(now); now += lease / 16) silence.OnLook(now);
      EXPECT_GT(now, tenure.deadline());
    }
  }
}

TEST(Reigns, AreTheSameIfOneAttemptOfOneProcessLeads) {
  Reign reign;
  reign.id = "1";
  reign.attempt = 2;
  EXPECT_TRUE(IsSameReign(reign, reign));
  Reign other = reign;
  other.id = "2";
  EXPECT_FALSE(IsSameReign(other, reign));
  other = reign;
  other.attempt = 1;
  EXPECT_FALSE(IsSameReign(other, reign)) << "an earlier try of it";
  other = reign;
  other.vacant = true;
  EXPECT_FALSE(IsSameReign(other, reign)) << "it has left";
}

}  // namespace
}  // namespace gearstalk
