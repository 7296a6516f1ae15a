// put and use.

#include <string>

#include "tests/proto_beanstalk/broker.h"

namespace gearstalk::beanstalk {
namespace {

using ProduceTest = BeanstalkTest;

TEST_F(ProduceTest, PutInsertsWithRisingIds) {
  EXPECT_EQ(a_.Say("put 0 0 60 5\r\nhello\r\n"), "INSERTED 1\r\n");
  EXPECT_EQ(a_.Say("put 0 0 60 0\r\n\r\n"), "INSERTED 2\r\n");
  EXPECT_EQ(a_.Say("peek 1\r\npeek 2\r\n"), "FOUND 1 5\r\nhello\r\nFOUND 2 0\r\n\r\n");
}

TEST_F(ProduceTest, BodiesMayHoldAnything) {
  const std::string body("\r\n\0\xff put 0 0 0 0\r\n", 19);
  EXPECT_EQ(a_.Say("put 0 0 60 19\r\n" + body + "\r\n"), "INSERTED 1\r\n");
  EXPECT_EQ(a_.Say("reserve\r\n"), "RESERVED 1 19\r\n" + body + "\r\n");
}

TEST_F(ProduceTest, NumbersMayHaveBlanksAndZeros) {
  EXPECT_EQ(a_.Say("put   007  00 060   1\r\nx\r\n"), "INSERTED 1\r\n");
  const std::string stats = a_.Say("stats-job 1\r\n");
  EXPECT_EQ(ValueOf(stats, "pri"), "7");
  EXPECT_EQ(ValueOf(stats, "ttr"), "60");
}

TEST_F(ProduceTest, ATtrOfZeroIsOne) {
  a_.Say("put 0 0 0 1\r\nx\r\n");
  EXPECT_EQ(ValueOf(a_.Say("stats-job 1\r\n"), "ttr"), "1");
}

TEST_F(ProduceTest, ADelayedJobIsReadyLater) {
  a_.Say("put 0 10 60 1\r\nx\r\n");
  EXPECT_EQ(ValueOf(a_.Say("stats-job 1\r\n"), "state"), "delayed");
  broker_.Pass(10 * kSecond);
  EXPECT_EQ(ValueOf(a_.Say("stats-job 1\r\n"), "state"), "ready");
}

TEST_F(ProduceTest, ABodyWithoutItsEndIsRefusedAndWhatFollowsIsACommand) {
  EXPECT_EQ(a_.Say("put 0 0 60 3\r\nabcdelist-tube-used\r\n"),
            "EXPECTED_CRLF\r\nUSING default\r\n");
  EXPECT_EQ(a_.Say("put 0 0 60 3\r\nabc\n\r"), "EXPECTED_CRLF\r\n");
  EXPECT_EQ(a_.Say("peek-ready\r\n"), "NOT_FOUND\r\n");
  EXPECT_EQ(ValueOf(a_.Say("stats\r\n"), "cmd-put"), "2");
  EXPECT_EQ(a_.Say("put 0 0 60 1\r\nx\r\n"), "INSERTED 3\r\n");
}

TEST_F(ProduceTest, ALineThatIsNoPutMakesItsBodyCommands) {
  EXPECT_EQ(a_.Say("put 0 0 60\r\nlist-tube-used\r\n"), "BAD_FORMAT\r\nUSING default\r\n");
  EXPECT_EQ(ValueOf(a_.Say("stats\r\n"), "cmd-put"), "0");
  EXPECT_EQ(a_.Say("put 0 0 60 14 \r\nlist-tube-used\r\n"), "BAD_FORMAT\r\nUSING default\r\n");
  EXPECT_EQ(ValueOf(a_.Say("stats\r\n"), "cmd-put"), "1");
}

TEST_F(ProduceTest, UsedTubes) {
  EXPECT_EQ(a_.Say("use a/b\r\n"), "USING a/b\r\n");
  EXPECT_EQ(a_.Say("list-tube-used\r\n"), "USING a/b\r\n");
  a_.Say("put 0 0 60 1\r\nx\r\n");
  EXPECT_EQ(ValueOf(a_.Say("stats-job 1\r\n"), "tube"), "a/b");
  EXPECT_EQ(b_.Say("list-tube-used\r\n"), "USING default\r\n");
}

TEST_F(ProduceTest, DrainingRefusesAfterTheBody) {
  broker_.engine.SetDraining(true);
  EXPECT_EQ(a_.Say("put 0 0 60 4\r\nquit\r\n"), "DRAINING\r\n");
  EXPECT_EQ(a_.Say("put 0 0 60 1\r\nxyz"), "EXPECTED_CRLF\r\n");
  EXPECT_EQ(ValueOf(a_.Say("\r\nstats\r\n"), "draining"), "true");
}

TEST_F(ProduceTest, AFullQueueIsOutOfMemoryAfterTheBody) {
  a_.Say("use q\r\n");
  ASSERT_TRUE(broker_.engine.SetMaxQueue("q", {1, 1, 1}).ok());
  EXPECT_EQ(a_.Say("put 0 0 60 4\r\nquit\r\n"), "INSERTED 1\r\n");
  EXPECT_EQ(a_.Say("put 0 0 60 4\r\nquit\r\n"), "OUT_OF_MEMORY\r\n");
}

TEST_F(ProduceTest, AProducerIsOneFromItsFirstPutHoweverItEnds) {
  const auto producers = [this] { return ValueOf(a_.Say("stats\r\n"), "current-producers"); };
  a_.Say("put 0 0 60 1 tail\r\n");
  EXPECT_EQ(producers(), "0");
  EXPECT_EQ(a_.Say("put 0 0 60 1\r\nxyz"), "EXPECTED_CRLF\r\n");
  EXPECT_EQ(producers(), "1");
  Client b(broker_);
  b.Say("put 0 0 60 5\r\nhe");
  EXPECT_EQ(producers(), "2");
}

TEST_F(ProduceTest, AReplyTubeWantsItsJob) {
  EXPECT_EQ(a_.Say("use $reply/7\r\nput 0 0 60 1\r\nx\r\n"), "USING $reply/7\r\nNOT_FOUND\r\n");
  a_.Say("use default\r\nput 0 0 60 1\r\nx\r\n");
  EXPECT_EQ(a_.Say("use $reply/1\r\nput 0 0 60 1\r\nx\r\n"), "USING $reply/1\r\nNOT_FOUND\r\n");
  a_.Say("reserve\r\n");
  EXPECT_EQ(a_.Say("put 0 0 60 1\r\nx\r\n").substr(0, 9), "INSERTED ");
}

TEST_F(ProduceTest, ABodyMayEndWithTheConnection) {
  {
    Client c(broker_);
    EXPECT_EQ(c.Say("put 0 0 60 100\r\nabc"), "");
    EXPECT_EQ(c.Eof(), "");
  }
  EXPECT_EQ(ValueOf(a_.Say("stats\r\n"), "total-jobs"), "0");
}

class SizeLimit : public ::testing::Test {
 protected:
  Broker broker_{Options{.max_job_size = 10}};
  Client a_{broker_};
};

TEST_F(SizeLimit, IsInclusive) {
  EXPECT_EQ(a_.Say("put 0 0 60 10\r\n0123456789\r\n"), "INSERTED 1\r\n");
  EXPECT_EQ(a_.refused(Refusal::kJobSize), 0U);
  EXPECT_EQ(a_.Say("put 0 0 60 11\r\n0123456789A\r\n"), "JOB_TOO_BIG\r\n");
  EXPECT_EQ(a_.refused(Refusal::kJobSize), 1U);
}

TEST_F(SizeLimit, SwallowsTheBodyWhateverItsEnd) {
  EXPECT_EQ(a_.Say("put 0 0 60 11\r\n0123456789Axxlist-tube-used\r\n"),
            "JOB_TOO_BIG\r\nUSING default\r\n");
  EXPECT_EQ(a_.Say("put 0 0 60 11 tail\r\n0123456789A\r\n"), "JOB_TOO_BIG\r\n");
  EXPECT_EQ(ValueOf(a_.Say("stats\r\n"), "cmd-put"), "2");
  EXPECT_EQ(ValueOf(a_.Say("stats\r\n"), "current-producers"), "0");
}

TEST_F(SizeLimit, AnswersOnlyAfterTheBody) {
  EXPECT_EQ(a_.Say("put 0 0 60 11\r\n0123456789A\r"), "");
  EXPECT_EQ(a_.Say("\n"), "JOB_TOO_BIG\r\n");
  EXPECT_EQ(a_.Say("put 0 0 60 4294967295\r\nabc"), "");
  EXPECT_TRUE(a_.session()->BodySpace().empty());
}

TEST_F(SizeLimit, CanBeChanged) {
  broker_.protocol.set_max_job_size(11);
  EXPECT_EQ(a_.Say("put 0 0 60 11\r\n0123456789A\r\n"), "INSERTED 1\r\n");
  EXPECT_EQ(ValueOf(a_.Say("stats\r\n"), "max-job-size"), "11");
}

class LargeBodies : public ::testing::Test {
 protected:
  static std::string Pattern(std::size_t size) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 % 251);
    return text;
  }

  Broker broker_{Options{.max_job_size = 1U << 24U}};
  Client a_{broker_};
};

TEST_F(LargeBodies, AreReadStraightIntoTheJob) {
  for (const std::size_t size : {4093U, 16383U, 65535U, 65536U, 65537U, 131070U, 1000000U}) {
    for (const std::size_t read : {777U, 16384U, 1U << 20U}) {
      const std::string text = std::to_string(size);
      const std::string body = Pattern(size);
      Client c(broker_);
      const std::string put = "put 0 0 60 " + text + "\r\n" + body + "\r\nlist-tube-used\r\n";
      const std::string replies = c.Stream(put, read);
      const std::size_t end = replies.find("\r\n");
      ASSERT_EQ(replies.substr(0, 9), "INSERTED ") << size;
      EXPECT_EQ(replies.substr(end), "\r\nUSING default\r\n");
      const std::string id = replies.substr(9, end - 9);
      EXPECT_EQ(c.Say("peek " + id + "\r\n"), "FOUND " + id + " " + text + "\r\n" + body + "\r\n");
      EXPECT_EQ(c.Say("delete " + id + "\r\n"), "DELETED\r\n");
      EXPECT_EQ(c.direct_reads() > 0, size > 65000 && read < size) << size << ' ' << read;
    }
  }
}

TEST_F(LargeBodies, AreCheckedForTheirEnd) {
  EXPECT_EQ(a_.Stream("put 0 0 60 100000\r\n" + Pattern(100000) + "\rxlist-tube-used\r\n", 5000),
            "EXPECTED_CRLF\r\nUSING default\r\n");
}

TEST_F(LargeBodies, OutliveTheirJobWhileTheyAreSent) {
  const std::string body = Pattern(100000);
  a_.Say("put 0 0 60 100000\r\n" + body + "\r\n");
  EXPECT_EQ(a_.Say("reserve\r\npeek 1\r\ndelete 1\r\n"),
            "RESERVED 1 100000\r\n" + body + "\r\nFOUND 1 100000\r\n" + body + "\r\nDELETED\r\n");
}

}  // namespace
}  // namespace gearstalk::beanstalk
