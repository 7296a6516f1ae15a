// kick, kick-job, pause-tube and the lists.

#include <string>

#include "proto_beanstalk/session.h"
#include "tests/proto_beanstalk/broker.h"

namespace gearstalk::beanstalk {
namespace {

using TubeTest = BeanstalkTest;

constexpr int kSlice = kSliceItems;

std::string Repeat(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

std::string Kicked(int jobs) { return "KICKED " + std::to_string(jobs) + "\r\n"; }

TEST_F(TubeTest, KickTakesBuriedJobsFirst) {
  a_.Say(Repeat("put 0 0 60 1\r\nx\r\n", 3) + "put 0 99 60 1\r\nd\r\n");
  a_.Say("reserve-job 2\r\nreserve-job 3\r\nreserve-job 1\r\nbury 2 0\r\nbury 3 0\r\nbury 1 0\r\n");
  EXPECT_EQ(a_.Say("kick 2\r\n"), "KICKED 2\r\n");
  EXPECT_EQ(a_.Say("peek-buried\r\n"), "FOUND 1 1\r\nx\r\n");
  EXPECT_EQ(a_.Say("kick 10\r\nkick 10\r\nkick 10\r\n"), "KICKED 1\r\nKICKED 1\r\nKICKED 0\r\n");
  EXPECT_EQ(ValueOf(a_.Say("stats-job 4\r\n"), "kicks"), "1");
}

TEST_F(TubeTest, KickReadsItsBoundLeniently) {
  a_.Say(Repeat("put 0 99 60 1\r\nx\r\n", 3));
  EXPECT_EQ(a_.Say("kick 0\r\nkick 4294967296\r\n"), "KICKED 0\r\nKICKED 0\r\n");
  EXPECT_EQ(a_.Say("kick 1 job\r\n"), "KICKED 1\r\n");
  EXPECT_EQ(a_.Say("kick -1\r\n"), "KICKED 2\r\n");
  EXPECT_EQ(a_.Say("kick 18446744073709551616\r\n"), "BAD_FORMAT\r\n");
}

TEST_F(TubeTest, KickStaysInTheUsedTube) {
  a_.Say("put 0 99 60 1\r\nx\r\n");
  EXPECT_EQ(b_.Say("use t\r\nkick 1\r\n"), "USING t\r\nKICKED 0\r\n");
}

TEST_F(TubeTest, KickOfManyJobsLetsOthersGoFirst) {
  a_.Say(Repeat("put 0 99 60 1\r\nx\r\n", 2 * kSlice + 1));
  EXPECT_EQ(a_.Step("kick 4000\r\n"), Next::kYield);
  EXPECT_EQ(ValueOf(b_.Say("stats\r\n"), "current-jobs-ready"), std::to_string(kSlice));
  EXPECT_EQ(a_.Step("list-tube-used\r\n"), Next::kYield);
  EXPECT_EQ(a_.Step(""), Next::kBytes);
  EXPECT_EQ(a_.Hear(), Kicked(2 * kSlice + 1) + "USING default\r\n");
}

TEST_F(TubeTest, KickOfExactlyASliceIsDone) {
  a_.Say(Repeat("put 0 99 60 1\r\nx\r\n", kSlice));
  EXPECT_EQ(a_.Step("kick 9999\r\n"), Next::kBytes);
  EXPECT_EQ(a_.Hear(), Kicked(kSlice));
}

TEST_F(TubeTest, KickCountsWhatItFoundAlthoughJobsAreBuriedAgain) {
  a_.Say(Repeat("put 0 0 60 1\r\nx\r\n", kSlice + 1));
  for (int id = 1; id <= kSlice + 1; ++id) {
    const std::string text = std::to_string(id);
    a_.Say("reserve-job " + text + "\r\nbury " + text + " 0\r\n");
  }
  EXPECT_EQ(a_.Step("kick 4000000000\r\n"), Next::kYield);
  b_.Say("reserve\r\nbury 1 0\r\n");
  EXPECT_EQ(a_.Step(""), Next::kBytes);
  EXPECT_EQ(a_.Hear(), Kicked(kSlice + 1));
  EXPECT_EQ(a_.Say("peek-buried\r\n"), "FOUND 1 1\r\nx\r\n");
}

TEST_F(TubeTest, KickHandsJobsToWhoWaits) {
  a_.Say("put 0 99 60 1\r\nx\r\n");
  EXPECT_EQ(b_.Say("reserve\r\n"), "");
  EXPECT_EQ(a_.Say("kick 1\r\n"), "KICKED 1\r\n");
  EXPECT_EQ(b_.Hear(), "RESERVED 1 1\r\nx\r\n");
}

TEST_F(TubeTest, KickJobWantsABuriedOrDelayedJob) {
  a_.Say("put 0 99 60 1\r\nx\r\nput 0 0 60 1\r\ny\r\n");
  EXPECT_EQ(b_.Say("use other\r\nkick-job 1\r\nkick-job 1\r\nkick-job 2\r\nkick-job 3\r\n"),
            "USING other\r\nKICKED\r\nNOT_FOUND\r\nNOT_FOUND\r\nNOT_FOUND\r\n");
  a_.Say("reserve-job 2\r\n");
  EXPECT_EQ(b_.Say("kick-job 2\r\n"), "NOT_FOUND\r\n");
  a_.Say("bury 2 0\r\n");
  EXPECT_EQ(b_.Say("kick-job 2\r\n"), "KICKED\r\n");
}

TEST_F(TubeTest, PauseHoldsDeliveryBack) {
  EXPECT_EQ(a_.Say("pause-tube nope 1\r\n"), "NOT_FOUND\r\n");
  EXPECT_EQ(a_.Say("pause-tube default 10\r\nput 0 0 60 1\r\nx\r\n"), "PAUSED\r\nINSERTED 1\r\n");
  EXPECT_EQ(a_.Say("reserve-with-timeout 0\r\n"), "TIMED_OUT\r\n");
  EXPECT_EQ(b_.Say("reserve\r\n"), "");
  broker_.Pass(10 * kSecond);
  EXPECT_EQ(b_.Hear(), "RESERVED 1 1\r\nx\r\n");
}

TEST_F(TubeTest, APauseOfZeroEndsOne) {
  EXPECT_EQ(a_.Say("pause-tube default 10\r\nput 0 0 60 1\r\nx\r\n"), "PAUSED\r\nINSERTED 1\r\n");
  EXPECT_EQ(b_.Say("reserve\r\n"), "");
  EXPECT_EQ(a_.Say("pause-tube default 0\r\n"), "PAUSED\r\n");
  broker_.Pass(1);
  EXPECT_EQ(b_.Hear(), "RESERVED 1 1\r\nx\r\n");
}

TEST_F(TubeTest, ListTubesShowsThemAsTheyWereMade) {
  a_.Say("watch zebra\r\nwatch 12\r\nuse apple\r\n");
  EXPECT_EQ(b_.Say("list-tubes\r\n"), "OK 37\r\n---\n- default\n- zebra\n- \"12\"\n- apple\n\r\n");
  a_.Say("ignore zebra\r\nuse default\r\n");
  EXPECT_EQ(b_.Say("list-tubes\r\n"), "OK 21\r\n---\n- default\n- \"12\"\n\r\n");
}

TEST_F(TubeTest, ListTubesQuotesNamesThatOnlyGearmanKnows) {
  broker_.engine.CreateFunction("a \"b\"\n");
  EXPECT_EQ(a_.Say("list-tubes\r\n"), "OK 28\r\n---\n- default\n- \"a \\\"b\\\"\\n\"\n\r\n");
}

class ManyTubes : public BeanstalkTest {
 protected:
  static constexpr int kTubes = 2 * kSlice + 1;

  ManyTubes() {
    expected_ = "---\n- default\n";
    std::string watches;
    for (int i = 0; i < kTubes; ++i) {
      const std::string name = "tube-" + std::to_string(i);
      watches += "watch " + name + "\r\n";
      expected_ += "- " + name + "\n";
    }
    a_.Say(watches);
    expected_ = "OK " + std::to_string(expected_.size()) + "\r\n" + expected_ + "\r\n";
  }

  std::string expected_;
};

TEST_F(ManyTubes, AreListedInSlices) {
  EXPECT_EQ(b_.Say("list-tubes\r\nlist-tube-used\r\n"), expected_ + "USING default\r\n");
  EXPECT_EQ(b_.yields(), 2);
}

TEST_F(ManyTubes, AreListedInSlicesToTheirWatcher) {
  const int before = a_.yields();
  EXPECT_EQ(a_.Say("list-tubes-watched\r\nlist-tube-used\r\n"), expected_ + "USING default\r\n");
  EXPECT_EQ(a_.yields() - before, 2);
}

TEST_F(ManyTubes, MayComeAndGoMeanwhile) {
  EXPECT_EQ(b_.Step("list-tubes\r\n"), Next::kYield);
  const auto tube = [](int number) { return "tube-" + std::to_string(number); };
  // The last one of the first slice, and of all.
  a_.Say("ignore " + tube(kSlice - 2) + "\r\nignore " + tube(kTubes - 1) + "\r\nwatch late\r\n");
  const std::string reply = b_.Say("");
  EXPECT_EQ(reply.substr(0, 3), "OK ");
  EXPECT_EQ(reply.find(tube(kTubes - 1)), std::string::npos);
  EXPECT_NE(reply.find("- " + tube(kTubes - 2) + "\n- late\n\r\n"), std::string::npos);
}

TEST_F(ManyTubes, DoNotMindAListenerThatLeaves) {
  Client c(broker_);
  EXPECT_EQ(c.Step("list-tubes\r\n"), Next::kYield);
}

}  // namespace
}  // namespace gearstalk::beanstalk
