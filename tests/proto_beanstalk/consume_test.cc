// reserve and its relatives, what a holder does with a job, watch and ignore.

#include <string>

#include "tests/proto_beanstalk/broker.h"

namespace gearstalk::beanstalk {
namespace {

using ConsumeTest = BeanstalkTest;

TEST_F(ConsumeTest, ReserveTakesTheMostUrgentJob) {
  a_.Say("put 9 0 60 1\r\nx\r\nput 1 0 60 1\r\ny\r\n");
  EXPECT_EQ(b_.Say("reserve\r\nreserve\r\n"), "RESERVED 2 1\r\ny\r\nRESERVED 1 1\r\nx\r\n");
}

TEST_F(ConsumeTest, ReserveWaits) {
  EXPECT_EQ(b_.Say("reserve\r\nlist-tube-used\r\n"), "");
  EXPECT_EQ(b_.Hear(), "");
  EXPECT_EQ(a_.Say("put 0 0 60 3\r\nabc\r\n"), "INSERTED 1\r\n");
  EXPECT_EQ(b_.Hear(), "RESERVED 1 3\r\nabc\r\nUSING default\r\n");
}

TEST_F(ConsumeTest, WhatIsSentToAWaitingSessionStaysWhereItIs) {
  EXPECT_EQ(b_.Step("reserve\r\nuse x\r\n"), Next::kWait);
  EXPECT_EQ(b_.Step("use y\r\n"), Next::kWait);
  a_.Say("put 0 0 60 1\r\nx\r\n");
  EXPECT_EQ(b_.Hear(), "RESERVED 1 1\r\nx\r\nUSING x\r\nUSING y\r\n");
}

TEST_F(ConsumeTest, ReserveWithTimeoutOfZeroDoesNotWait) {
  EXPECT_EQ(a_.Say("reserve-with-timeout 0\r\n"), "TIMED_OUT\r\n");
  EXPECT_EQ(a_.Say("reserve-with-timeout 0abc\r\n"), "TIMED_OUT\r\n");
}

TEST_F(ConsumeTest, ReserveWithTimeoutTimesOut) {
  EXPECT_EQ(a_.Say("reserve-with-timeout 10\r\n"), "");
  broker_.Pass(10 * kSecond - 1);
  EXPECT_EQ(a_.Hear(), "");
  broker_.Pass(1);
  EXPECT_EQ(a_.Hear(), "TIMED_OUT\r\n");
  a_.Say("reserve-with-timeout 2147483647\r\n");
  broker_.Pass(2147483646 * kSecond);
  EXPECT_EQ(a_.Hear(), "");
}

TEST_F(ConsumeTest, DeadlineSoonInTheLastSecond) {
  a_.Say("put 0 0 10 1\r\nx\r\nreserve\r\n");
  broker_.Pass(9 * kSecond - 1);
  EXPECT_EQ(a_.Say("reserve-with-timeout 0\r\n"), "TIMED_OUT\r\n");
  EXPECT_EQ(a_.Say("reserve\r\n"), "");
  broker_.Pass(1);
  EXPECT_EQ(a_.Hear(), "DEADLINE_SOON\r\n");
  EXPECT_EQ(a_.Say("reserve\r\nreserve-with-timeout 0\r\n"), "DEADLINE_SOON\r\nDEADLINE_SOON\r\n");
  EXPECT_EQ(a_.Say("touch 1\r\n"), "TOUCHED\r\n");
  EXPECT_EQ(a_.Say("reserve-with-timeout 0\r\n"), "TIMED_OUT\r\n");
}

TEST_F(ConsumeTest, ATtrEndsWhetherTheHolderSpeaksOrNot) {
  a_.Say("put 0 0 10 1\r\nx\r\nreserve\r\n");
  EXPECT_EQ(b_.Say("reserve\r\n"), "");
  broker_.Pass(10 * kSecond);
  EXPECT_EQ(b_.Hear(), "RESERVED 1 1\r\nx\r\n");
  EXPECT_EQ(a_.Say("touch 1\r\nbury 1 0\r\nrelease 1 0 0\r\ndelete 1\r\n"),
            "NOT_FOUND\r\nNOT_FOUND\r\nNOT_FOUND\r\nNOT_FOUND\r\n");
  const std::string stats = a_.Say("stats-job 1\r\n");
  EXPECT_EQ(ValueOf(stats, "timeouts"), "1");
  EXPECT_EQ(ValueOf(stats, "reserves"), "2");
}

TEST_F(ConsumeTest, HalfCloseTimesOutAWaitingReserve) {
  EXPECT_EQ(a_.Say("reserve\r\nlist-tube-used\r\nreserve\r\nreserve-with-timeout 9\r\n"), "");
  EXPECT_EQ(a_.Eof(), "TIMED_OUT\r\nUSING default\r\nTIMED_OUT\r\nTIMED_OUT\r\n");
  EXPECT_EQ(ValueOf(b_.Say("stats\r\n"), "current-waiting"), "0");
  EXPECT_EQ(b_.Say("put 0 0 60 1\r\nx\r\nreserve\r\n"), "INSERTED 1\r\nRESERVED 1 1\r\nx\r\n");
  EXPECT_EQ(a_.Hear(), "");
}

TEST_F(ConsumeTest, HalfCloseStillTakesAReadyJob) {
  a_.Say("put 0 0 60 1\r\nx\r\n");
  b_.session()->OnEof();
  EXPECT_EQ(b_.Say("reserve\r\n"), "RESERVED 1 1\r\nx\r\n");
}

TEST_F(ConsumeTest, AnEndedConnectionGivesItsJobsBack) {
  {
    Client c(broker_);
    c.Say("put 0 0 60 1\r\nx\r\nreserve\r\n");
    EXPECT_EQ(a_.Say("reserve\r\n"), "");
  }
  EXPECT_EQ(a_.Hear(), "RESERVED 1 1\r\nx\r\n");
  const std::string stats = a_.Say("stats-job 1\r\n");
  EXPECT_EQ(ValueOf(stats, "timeouts"), "0");
  EXPECT_EQ(ValueOf(stats, "releases"), "0");
}

TEST_F(ConsumeTest, ReserveJobTakesAnyJobThatNobodyHolds) {
  a_.Say("use far\r\nput 0 0 60 1\r\nr\r\nput 0 99 60 1\r\nd\r\npause-tube far 99\r\n");
  EXPECT_EQ(b_.Say("reserve-job 1\r\n"), "RESERVED 1 1\r\nr\r\n");
  EXPECT_EQ(b_.Say("reserve-job 2\r\n"), "RESERVED 2 1\r\nd\r\n");
  EXPECT_EQ(b_.Say("bury 2 0\r\n"), "BURIED\r\n");
  EXPECT_EQ(a_.Say("reserve-job 2\r\n"), "RESERVED 2 1\r\nd\r\n");
  EXPECT_EQ(b_.Say("reserve-job 1\r\nreserve-job 2\r\nreserve-job 3\r\nreserve-job 0\r\n"),
            "NOT_FOUND\r\nNOT_FOUND\r\nNOT_FOUND\r\nNOT_FOUND\r\n");
}

TEST_F(ConsumeTest, DeleteIsForTheHolderAndForUnheldJobs) {
  a_.Say("put 0 0 60 1\r\nx\r\nput 0 0 60 1\r\ny\r\nput 0 99 60 1\r\nz\r\n");
  a_.Say("reserve\r\n");
  EXPECT_EQ(b_.Say("delete 1\r\ndelete 2\r\ndelete 3\r\ndelete 4\r\n"),
            "NOT_FOUND\r\nDELETED\r\nDELETED\r\nNOT_FOUND\r\n");
  EXPECT_EQ(a_.Say("delete 1\r\n"), "DELETED\r\n");
  EXPECT_EQ(a_.Say("delete 1\r\n"), "NOT_FOUND\r\n");
}

TEST_F(ConsumeTest, ReleaseSetsPriorityAndDelay) {
  a_.Say("put 0 0 60 1\r\nx\r\nreserve\r\n");
  EXPECT_EQ(b_.Say("release 1 5 0\r\n"), "NOT_FOUND\r\n");
  EXPECT_EQ(a_.Say("release 1 5 0\r\n"), "RELEASED\r\n");
  EXPECT_EQ(a_.Say("release 1 5 0\r\n"), "NOT_FOUND\r\n");
  std::string stats = a_.Say("stats-job 1\r\n");
  EXPECT_EQ(ValueOf(stats, "pri"), "5");
  EXPECT_EQ(ValueOf(stats, "state"), "ready");
  EXPECT_EQ(a_.Say("reserve\r\nrelease 1 6 7\r\n"), "RESERVED 1 1\r\nx\r\nRELEASED\r\n");
  stats = a_.Say("stats-job 1\r\n");
  EXPECT_EQ(ValueOf(stats, "state"), "delayed");
  EXPECT_EQ(ValueOf(stats, "delay"), "7");
  EXPECT_EQ(ValueOf(stats, "time-left"), "7");
  EXPECT_EQ(ValueOf(stats, "releases"), "2");
}

TEST_F(ConsumeTest, BurySetsAPriority) {
  a_.Say("put 0 0 60 1\r\nx\r\n");
  EXPECT_EQ(a_.Say("bury 1 5\r\n"), "NOT_FOUND\r\n");
  a_.Say("reserve\r\n");
  EXPECT_EQ(b_.Say("bury 1 5\r\n"), "NOT_FOUND\r\n");
  EXPECT_EQ(a_.Say("bury 1 5\r\n"), "BURIED\r\n");
  const std::string stats = a_.Say("stats-job 1\r\n");
  EXPECT_EQ(ValueOf(stats, "state"), "buried");
  EXPECT_EQ(ValueOf(stats, "pri"), "5");
  EXPECT_EQ(ValueOf(stats, "buries"), "1");
}

TEST_F(ConsumeTest, TouchStartsTheTtrAnew) {
  a_.Say("put 0 0 10 1\r\nx\r\nreserve\r\n");
  broker_.Pass(6 * kSecond);
  EXPECT_EQ(ValueOf(a_.Say("stats-job 1\r\n"), "time-left"), "4");
  EXPECT_EQ(b_.Say("touch 1\r\n"), "NOT_FOUND\r\n");
  EXPECT_EQ(a_.Say("touch 1\r\n"), "TOUCHED\r\n");
  EXPECT_EQ(ValueOf(a_.Say("stats-job 1\r\n"), "time-left"), "10");
}

TEST_F(ConsumeTest, WatchAndIgnore) {
  EXPECT_EQ(a_.Say("watch one\r\nwatch one\r\nwatch two\r\n"),
            "WATCHING 2\r\nWATCHING 2\r\nWATCHING 3\r\n");
  EXPECT_EQ(a_.Say("list-tubes-watched\r\n"), "OK 26\r\n---\n- default\n- one\n- two\n\r\n");
  EXPECT_EQ(a_.Say("ignore default\r\n"), "WATCHING 2\r\n");
  EXPECT_EQ(a_.Say("list-tubes-watched\r\n"), "OK 16\r\n---\n- two\n- one\n\r\n");
  EXPECT_EQ(a_.Say("ignore never\r\n"), "WATCHING 2\r\n");
  EXPECT_EQ(a_.Say("ignore one\r\nignore two\r\n"), "WATCHING 1\r\nNOT_IGNORED\r\n");
  EXPECT_EQ(a_.Say("list-tubes\r\n"), "OK 20\r\n---\n- default\n- two\n\r\n");
}

TEST_F(ConsumeTest, OnlyWatchedTubesGiveJobs) {
  b_.Say("use other\r\nput 0 0 60 1\r\nx\r\n");
  EXPECT_EQ(a_.Say("reserve-with-timeout 0\r\n"), "TIMED_OUT\r\n");
  EXPECT_EQ(a_.Say("watch other\r\nreserve-with-timeout 0\r\n"),
            "WATCHING 2\r\nRESERVED 1 1\r\nx\r\n");
}

TEST_F(ConsumeTest, AWaitingSessionCanEnd) {
  {
    Client c(broker_);
    EXPECT_EQ(c.Say("reserve\r\n"), "");
  }
  EXPECT_EQ(a_.Say("put 0 0 60 1\r\nx\r\nreserve\r\n"), "INSERTED 1\r\nRESERVED 1 1\r\nx\r\n");
}

TEST_F(ConsumeTest, QueuesOfASessionAreItsWatchList) {
  a_.Say("watch one\r\nwatch two\r\n");
  std::string queues;
  a_.session()->AppendQueues(queues, 0, 100);
  EXPECT_EQ(queues, " default one two");
  EXPECT_EQ(a_.session()->ClientId(), "");
}

// The server closes a connection that was idle for long. One that holds a job or waits for one is
// not idle.
TEST_F(BeanstalkTest, WhoHoldsOrAwaitsAJobIsNotIdle) {
  EXPECT_TRUE(a_.session()->Idle());
  EXPECT_EQ(a_.Say("reserve\r\n"), "");
  EXPECT_FALSE(a_.session()->Idle());
  EXPECT_EQ(b_.Say("put 0 0 60 1\r\nx\r\n"), "INSERTED 1\r\n");
  EXPECT_TRUE(b_.session()->Idle());
  EXPECT_EQ(a_.Hear(), "RESERVED 1 1\r\nx\r\n");
  EXPECT_FALSE(a_.session()->Idle());
  EXPECT_EQ(a_.Say("delete 1\r\n"), "DELETED\r\n");
  EXPECT_TRUE(a_.session()->Idle());
}

}  // namespace
}  // namespace gearstalk::beanstalk
