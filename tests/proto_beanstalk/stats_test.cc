#include <regex>
#include <string>

#include "tests/proto_beanstalk/broker.h"

namespace gearstalk::beanstalk {
namespace {

using StatsTest = BeanstalkTest;

std::string Framed(const std::string& yaml) {
  return "OK " + std::to_string(yaml.size()) + "\r\n" + yaml + "\r\n";
}

TEST_F(StatsTest, OfAJob) {
  a_.Say("put 5 0 10 3\r\nabc\r\n");
  broker_.Pass(2 * kSecond + kSecond / 2);
  EXPECT_EQ(a_.Say("stats-job 1\r\n"),
            "OK 144\r\n---\nid: 1\ntube: default\nstate: ready\npri: 5\nage: 2\ndelay: 0\n"
            "ttr: 10\ntime-left: 0\nfile: 0\nreserves: 0\ntimeouts: 0\nreleases: 0\n"
            "buries: 0\nkicks: 0\n\r\n");
  EXPECT_EQ(a_.Say("stats-job 2\r\n"), "NOT_FOUND\r\n");
}

TEST_F(StatsTest, OfAJobThroughItsLife) {
  a_.Say("put 5 20 10 3\r\nabc\r\n");
  broker_.Pass(kSecond / 2);
  std::string stats = a_.Say("stats-job 1\r\n");
  EXPECT_EQ(ValueOf(stats, "state"), "delayed");
  EXPECT_EQ(ValueOf(stats, "delay"), "20");
  EXPECT_EQ(ValueOf(stats, "time-left"), "19");
  a_.Say("kick 1\r\nreserve\r\n");
  stats = a_.Say("stats-job 1\r\n");
  EXPECT_EQ(ValueOf(stats, "state"), "reserved");
  EXPECT_EQ(ValueOf(stats, "time-left"), "10");
  EXPECT_EQ(ValueOf(stats, "reserves"), "1");
  EXPECT_EQ(ValueOf(stats, "kicks"), "1");
  a_.Say("bury 1 5\r\n");
  EXPECT_EQ(ValueOf(a_.Say("stats-job 1\r\n"), "state"), "buried");
}

TEST_F(StatsTest, OfATube) {
  a_.Say("use t\r\nput 5 0 10 1\r\nx\r\nput 1024 0 10 1\r\nx\r\nput 0 9 10 1\r\nx\r\n");
  a_.Say("put 5 0 10 1\r\nx\r\nput 5 0 10 1\r\nx\r\nput 5 0 10 1\r\nx\r\n");
  b_.Say("watch t\r\nreserve-job 4\r\nreserve-job 5\r\nbury 5 0\r\ndelete 6\r\n");
  b_.Say("pause-tube t 30\r\n");
  broker_.Pass(kSecond / 2);
  EXPECT_EQ(a_.Say("stats-tube t\r\n"),
            Framed("---\nname: t\ncurrent-jobs-urgent: 1\ncurrent-jobs-ready: 2\n"
                   "current-jobs-reserved: 1\ncurrent-jobs-delayed: 1\ncurrent-jobs-buried: 1\n"
                   "total-jobs: 6\ncurrent-using: 1\ncurrent-watching: 1\ncurrent-waiting: 0\n"
                   "cmd-delete: 1\ncmd-pause-tube: 1\npause: 30\npause-time-left: 29\n"));
  EXPECT_EQ(a_.Say("stats-tube nope\r\n"), "NOT_FOUND\r\n");
}

TEST_F(StatsTest, OfATubeCountWhoWaits) {
  b_.Say("reserve\r\n");
  EXPECT_EQ(ValueOf(a_.Say("stats-tube default\r\n"), "current-waiting"), "1");
  EXPECT_EQ(ValueOf(a_.Say("stats-tube default\r\n"), "current-watching"), "2");
  EXPECT_EQ(ValueOf(a_.Say("stats\r\n"), "current-waiting"), "1");
}

TEST_F(StatsTest, OfTheServer) {
  a_.Say("put 5 0 10 1\r\nx\r\nput 1024 0 10 1\r\nx\r\nput 0 9 10 1\r\nx\r\n");
  b_.Say("reserve\r\nreserve-job 9\r\nkick-job 9\r\ndelete 99\r\nwatch t\r\n");
  broker_.Pass(5 * kSecond);
  const std::string reply = a_.Say("stats\r\n");
  const std::string plain = std::regex_replace(
      reply, std::regex("(rusage-.time): [0-9]+\\.[0-9]{6}\n"), "$1: 0.000000\n");
  const std::size_t yaml = plain.find("---");
  EXPECT_EQ(plain.substr(yaml),
            "---\ncurrent-jobs-urgent: 0\ncurrent-jobs-ready: 1\ncurrent-jobs-reserved: 1\n"
            "current-jobs-delayed: 1\ncurrent-jobs-buried: 0\ncmd-put: 3\ncmd-peek: 0\n"
            "cmd-peek-ready: 0\ncmd-peek-delayed: 0\ncmd-peek-buried: 0\ncmd-reserve: 1\n"
            "cmd-reserve-with-timeout: 0\ncmd-delete: 1\ncmd-release: 0\ncmd-use: 0\n"
            "cmd-watch: 1\ncmd-ignore: 0\ncmd-bury: 0\ncmd-kick: 0\ncmd-touch: 0\ncmd-stats: 1\n"
            "cmd-stats-job: 0\ncmd-stats-tube: 0\ncmd-list-tubes: 0\ncmd-list-tube-used: 0\n"
            "cmd-list-tubes-watched: 0\ncmd-pause-tube: 0\njob-timeouts: 0\ntotal-jobs: 3\n"
            "max-job-size: 65535\ncurrent-tubes: 2\ncurrent-connections: 3\n"
            "current-producers: 1\ncurrent-workers: 1\ncurrent-waiting: 0\n"
            "total-connections: 7\npid: 4321\nversion: \"1.2.3\"\nrusage-utime: 0.000000\n"
            "rusage-stime: 0.000000\nuptime: 5\nbinlog-oldest-index: 0\n"
            "binlog-current-index: 0\nbinlog-records-migrated: 0\nbinlog-records-written: 0\n"
            "binlog-max-size: 0\ndraining: false\nid: 0123456789abcdef\nhostname: host\n"
            "os: \"#1 SMP\"\nplatform: x86_64\n\r\n");
  const std::size_t size = reply.size() - reply.find("---") - 2;
  EXPECT_EQ(reply.substr(0, reply.find("---")), "OK " + std::to_string(size) + "\r\n");
}

TEST_F(StatsTest, CountersCountMissesButNoMalformedLines) {
  a_.Say("delete 1\r\ndelete x\r\nreserve-with-timeout 0\r\nreserve-with-timeout x\r\n");
  a_.Say("pause-tube -bad 1\r\npause-tube bad\r\nstats-tube nope\r\nstats x\r\nkick x\r\n");
  const std::string stats = a_.Say("stats\r\n");
  EXPECT_EQ(ValueOf(stats, "cmd-delete"), "1");
  EXPECT_EQ(ValueOf(stats, "cmd-reserve-with-timeout"), "1");
  EXPECT_EQ(ValueOf(stats, "cmd-pause-tube"), "1");
  EXPECT_EQ(ValueOf(stats, "cmd-stats-tube"), "1");
  EXPECT_EQ(ValueOf(stats, "cmd-stats"), "1");
  EXPECT_EQ(ValueOf(stats, "cmd-kick"), "0");
}

TEST_F(StatsTest, EveryVerbHasItsCounter) {
  struct Row {
    std::string line;
    Verb verb;
  };
  for (const auto& [line, verb] : {
           Row{"put 0 0 60 1\r\nx", Verb::kPut},
           Row{"peek 1", Verb::kPeek},
           Row{"peek-ready", Verb::kPeekReady},
           Row{"peek-delayed", Verb::kPeekDelayed},
           Row{"peek-buried", Verb::kPeekBuried},
           Row{"reserve", Verb::kReserve},
           Row{"reserve-with-timeout 0", Verb::kReserveWithTimeout},
           Row{"touch 1", Verb::kTouch},
           Row{"release 1 0 0", Verb::kRelease},
           Row{"reserve-job 1", Verb::kReserveJob},
           Row{"bury 1 0", Verb::kBury},
           Row{"kick 1", Verb::kKick},
           Row{"kick-job 1", Verb::kKickJob},
           Row{"delete 1", Verb::kDelete},
           Row{"use t", Verb::kUse},
           Row{"watch t", Verb::kWatch},
           Row{"ignore t", Verb::kIgnore},
           Row{"stats", Verb::kStats},
           Row{"stats-job 1", Verb::kStatsJob},
           Row{"stats-tube t", Verb::kStatsTube},
           Row{"list-tubes", Verb::kListTubes},
           Row{"list-tube-used", Verb::kListTubeUsed},
           Row{"list-tubes-watched", Verb::kListTubesWatched},
           Row{"pause-tube t 0", Verb::kPauseTube},
           Row{"quit", Verb::kQuit},
       }) {
    EXPECT_EQ(broker_.protocol.count(verb), 0U) << line;
    a_.Say(line + "\r\n");
    EXPECT_EQ(broker_.protocol.count(verb), 1U) << line;
  }
}

TEST(Identity, IsAskedFromTheSystem) {
  const Identity first = Identity::OfThisProcess("9.9", 5);
  const Identity second = Identity::OfThisProcess("9.9", 5);
  EXPECT_EQ(first.version, "9.9");
  EXPECT_EQ(first.started, 5);
  EXPECT_TRUE(std::regex_match(first.instance, std::regex("[0-9a-f]{16}")));
  EXPECT_NE(first.instance, second.instance);
  EXPECT_FALSE(first.hostname.empty());
  EXPECT_FALSE(first.os.empty());
  EXPECT_FALSE(first.platform.empty());
  EXPECT_GT(first.pid, 0);
}

}  // namespace
}  // namespace gearstalk::beanstalk
