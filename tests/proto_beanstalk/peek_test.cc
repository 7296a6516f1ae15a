#include "tests/proto_beanstalk/broker.h"

namespace gearstalk::beanstalk {
namespace {

using PeekTest = BeanstalkTest;

TEST_F(PeekTest, ShowsAJobInEveryState) {
  a_.Say("put 0 0 60 1\r\nr\r\nput 0 0 60 1\r\nb\r\nput 0 99 60 1\r\nd\r\nput 0 0 60 1\r\nv\r\n");
  b_.Say("reserve-job 4\r\nreserve-job 2\r\nbury 2 0\r\n");
  EXPECT_EQ(a_.Say("peek 1\r\npeek 2\r\npeek 3\r\npeek 4\r\n"),
            "FOUND 1 1\r\nr\r\nFOUND 2 1\r\nb\r\nFOUND 3 1\r\nd\r\nFOUND 4 1\r\nv\r\n");
  EXPECT_EQ(a_.Say("peek 5\r\npeek 0\r\npeek 18446744073709551615\r\n"),
            "NOT_FOUND\r\nNOT_FOUND\r\nNOT_FOUND\r\n");
}

TEST_F(PeekTest, LooksAtTheUsedTube) {
  a_.Say("use t\r\n");
  EXPECT_EQ(a_.Say("peek-ready\r\npeek-delayed\r\npeek-buried\r\n"),
            "NOT_FOUND\r\nNOT_FOUND\r\nNOT_FOUND\r\n");
  a_.Say("put 9 0 60 1\r\n1\r\nput 1 0 60 1\r\n2\r\nput 0 50 60 1\r\n3\r\nput 5 40 60 1\r\n4\r\n");
  EXPECT_EQ(a_.Say("peek-ready\r\n"), "FOUND 2 1\r\n2\r\n");
  EXPECT_EQ(a_.Say("peek-delayed\r\n"), "FOUND 4 1\r\n4\r\n");
  b_.Say("reserve-job 1\r\nreserve-job 2\r\nbury 1 0\r\nbury 2 0\r\n");
  EXPECT_EQ(a_.Say("peek-buried\r\n"), "FOUND 1 1\r\n1\r\n");
  EXPECT_EQ(a_.Say("peek-ready\r\n"), "NOT_FOUND\r\n");
  EXPECT_EQ(b_.Say("peek-buried\r\n"), "NOT_FOUND\r\n");
}

TEST_F(PeekTest, NobodySeesAnUnfinishedPut) {
  EXPECT_EQ(a_.Say("put 0 0 60 3\r\nab"), "");
  EXPECT_EQ(b_.Say("peek 1\r\nstats-job 1\r\n"), "NOT_FOUND\r\nNOT_FOUND\r\n");
  EXPECT_EQ(a_.Say("c\r\n"), "INSERTED 1\r\n");
}

}  // namespace
}  // namespace gearstalk::beanstalk
