// What a client hears that may not do everything.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/proto_beanstalk/broker.h"

namespace gearstalk::beanstalk {
namespace {

using Rules = std::vector<Access::Rule>;

constexpr std::string_view kDenied = "UNKNOWN_COMMAND\r\n";

class Rights : public BeanstalkTest {
 protected:
  // `a_` may do what the rules say, `b_` everything.
  void Limit(Rules rules) { a_.set_access(std::make_shared<const Access>(std::move(rules))); }
};

TEST_F(Rights, ToProduce) {
  Limit({{right::kProduce, {"in.*"}}});
  EXPECT_EQ(a_.Say("use in.1\r\nput 0 0 60 1\r\nx\r\n"), "USING in.1\r\nINSERTED 1\r\n");
  EXPECT_EQ(a_.Say("use other\r\n"), kDenied);
  EXPECT_EQ(a_.Say("list-tube-used\r\n"), "USING in.1\r\n");
  EXPECT_EQ(a_.Say("reserve-with-timeout 0\r\n"), kDenied);
  EXPECT_EQ(a_.Say("watch in.1\r\n"), kDenied);
  EXPECT_EQ(
      a_.Say("peek 1\r\npeek-ready\r\nkick 1\r\ndelete 1\r\n"),
      std::string(kDenied) + std::string(kDenied) + std::string(kDenied) + std::string(kDenied));
}

TEST_F(Rights, ARefusedPutTakesItsBody) {
  Limit({{right::kConsume, {"*"}}});
  EXPECT_EQ(a_.Say("put 0 0 60 5\r\nstats\r\nlist-tube-used\r\n"),
            std::string(kDenied) + "USING default\r\n");
  EXPECT_EQ(a_.Say("put 0 0 60 100000\r\n" + std::string(100'000, 'x') + "\r\nlist-tube-used\r\n"),
            std::string(kDenied) + "USING default\r\n");
  EXPECT_EQ(a_.Say("put 0 0 60 5 tail\r\n"), "BAD_FORMAT\r\n");
}

TEST_F(Rights, ToConsume) {
  b_.Say(
      "use out\r\nput 0 0 60 1\r\nx\r\nput 0 0 60 1\r\ny\r\nuse default\r\nput 0 0 60 1\r\nz\r\n");
  Limit({{right::kConsume, {"out"}}});
  EXPECT_EQ(a_.Say("watch out\r\n"), "WATCHING 1\r\n");
  EXPECT_EQ(a_.Say("watch in\r\n"), kDenied);
  EXPECT_EQ(a_.Say("list-tubes-watched\r\n"), "OK 10\r\n---\n- out\n\r\n");
  EXPECT_EQ(a_.Say("reserve\r\nstats-job 1\r\n").substr(0, 20), "RESERVED 1 1\r\nx\r\nOK ");
  EXPECT_EQ(a_.Say("touch 1\r\nrelease 1 0 0\r\nreserve\r\nbury 1 0\r\n"),
            "TOUCHED\r\nRELEASED\r\nRESERVED 1 1\r\nx\r\nBURIED\r\n");
  EXPECT_EQ(a_.Say("kick-job 1\r\n"), kDenied);
  EXPECT_EQ(a_.Say("delete 1\r\nreserve-job 2\r\ndelete 2\r\n"),
            "DELETED\r\nRESERVED 2 1\r\ny\r\nDELETED\r\n");
  EXPECT_EQ(a_.Say("delete 3\r\nreserve-job 3\r\npeek 3\r\n"),
            std::string(kDenied) + std::string(kDenied) + std::string(kDenied));
  EXPECT_EQ(a_.Say("delete 4\r\n"), "NOT_FOUND\r\n");
}

TEST_F(Rights, NobodyReservesFromATubeThatIsForbidden) {
  b_.Say("put 0 0 60 1\r\nz\r\n");
  Limit({{right::kConsume, {"out"}}});
  EXPECT_EQ(a_.Say("reserve-with-timeout 0\r\n"), kDenied);
  EXPECT_EQ(a_.Say("watch out\r\nreserve-with-timeout 0\r\n"), "WATCHING 1\r\nTIMED_OUT\r\n");
}

TEST_F(Rights, MayBeTakenAway) {
  EXPECT_EQ(a_.Say("watch out\r\n"), "WATCHING 2\r\n");
  b_.Say("use out\r\nput 0 0 60 1\r\nx\r\nput 0 0 60 1\r\ny\r\n");
  EXPECT_EQ(a_.Say("reserve\r\n"), "RESERVED 1 1\r\nx\r\n");
  Limit({{right::kConsume, {"default"}}});
  EXPECT_EQ(a_.Say("reserve-with-timeout 0\r\n"), "TIMED_OUT\r\n");
  EXPECT_EQ(a_.Say("list-tubes-watched\r\n"), "OK 14\r\n---\n- default\n\r\n");
  // What it holds it may end.
  EXPECT_EQ(a_.Say("delete 1\r\n"), "DELETED\r\n");
}

TEST_F(Rights, ToAnswerComeWithTheJob) {
  Limit({{right::kConsume, {"out"}}});
  EXPECT_EQ(a_.Say("use $reply/1\r\nput 0 0 60 1\r\nx\r\n"), "USING $reply/1\r\nNOT_FOUND\r\n");
}

TEST_F(Rights, ToAnswerAreNoneToAdministrate) {
  b_.Say("use $reply/1\r\n");
  Limit({{right::kConsume, {"out"}}});
  EXPECT_EQ(a_.Say("pause-tube $reply/1 5\r\n"), kDenied);
  EXPECT_EQ(a_.Say("stats-tube $reply/1\r\n"), kDenied);
  EXPECT_EQ(a_.Say("use $reply/1\r\nkick 1\r\n"), "USING $reply/1\r\n" + std::string(kDenied));
  EXPECT_EQ(a_.Say("peek-ready\r\n"), kDenied);
  EXPECT_FALSE(broker_.engine.FindTube("$reply/1")->paused());
}

TEST_F(Rights, ToObserve) {
  b_.Say("use in\r\nput 0 0 60 1\r\nx\r\nuse out\r\n");
  Limit({{right::kObserve, {"*"}}});
  EXPECT_TRUE(a_.Say("stats\r\n").starts_with("OK "));
  EXPECT_TRUE(a_.Say("stats-tube in\r\n").starts_with("OK "));
  EXPECT_TRUE(a_.Say("stats-job 1\r\n").starts_with("OK "));
  EXPECT_EQ(a_.Say("list-tubes\r\n"), "OK 25\r\n---\n- default\n- in\n- out\n\r\n");
  EXPECT_EQ(a_.Say("peek 1\r\n"), kDenied);
  EXPECT_EQ(a_.Say("pause-tube in 1\r\n"), kDenied);
}

TEST_F(Rights, ToObserveSomeTubes) {
  b_.Say("use in\r\nput 0 0 60 1\r\nx\r\nuse out\r\n");
  Limit({{right::kObserve, {"o*"}}});
  EXPECT_EQ(a_.Say("stats\r\n"), kDenied);
  EXPECT_EQ(a_.Say("stats-tube in\r\n"), kDenied);
  EXPECT_EQ(a_.Say("list-tubes\r\n"), "OK 10\r\n---\n- out\n\r\n");
}

TEST_F(Rights, ToAdministrate) {
  b_.Say("use in\r\nput 0 0 60 1\r\nx\r\nreserve-job 1\r\nbury 1 0\r\n");
  Limit({{right::kAdmin, {"*"}}});
  EXPECT_EQ(a_.Say("use in\r\npeek-buried\r\nkick 1\r\npause-tube in 1\r\ndelete 1\r\n"),
            "USING in\r\nFOUND 1 1\r\nx\r\nKICKED 1\r\nPAUSED\r\nDELETED\r\n");
  EXPECT_EQ(a_.Say("put 0 0 60 1\r\nx\r\n"), kDenied);
  EXPECT_EQ(a_.Say("reserve-with-timeout 0\r\n"), kDenied);
}

TEST_F(Rights, OfNothingLeaveAWayOut) {
  Limit({});
  EXPECT_EQ(a_.Say("stats\r\nlist-tubes\r\nlist-tube-used\r\nlist-tubes-watched\r\n"),
            std::string(kDenied) + std::string(kDenied) + "USING default\r\nOK 4\r\n---\n\r\n");
  EXPECT_EQ(a_.refused(), 2U);
  a_.Say("quit\r\n");
  EXPECT_TRUE(a_.closed());
}

TEST_F(Rights, DeniedCommandsAreNotCounted) {
  Limit({});
  a_.Say("stats\r\n");
  EXPECT_EQ(broker_.protocol.count(Verb::kStats), 0U);
}

}  // namespace
}  // namespace gearstalk::beanstalk
