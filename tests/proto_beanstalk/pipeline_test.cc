// The same bytes get the same answers, however they are cut.

#include <random>
#include <string>
#include <vector>

#include "proto_beanstalk/session.h"
#include "tests/proto_beanstalk/broker.h"

namespace gearstalk::beanstalk {
namespace {

constexpr std::string_view kTranscript =
    "use foo\r\nwatch foo\r\nput 5 0 60 5\r\nhello\r\nput 1 0 60 0\r\n\r\nfoo\r\nput 0 0 1 2\r\n"
    "abcdpeek 1\r\npeek-ready\r\nreserve\r\ntouch 2\r\nrelease 2 9 0\r\nreserve-job 1\r\nbury 1 "
    "3\r\n"
    "kick 10\r\nput 0 99 60 3\r\n\r\n\r\r\npeek-delayed\r\nkick-job 9\r\npeek-buried\r\n"
    "pause-tube foo 0\r\nlist-tubes\r\nlist-tube-used\r\nlist-tubes-watched\r\n"
    "ignore foo\r\nignore default\r\ndelete 1\r\ndelete 77\r\nstats-job 2\r\nstats-tube foo\r\n"
    "stats-tube\r\nuse a\rb\r\n\r\nput 0 0 0 70000\r\n";

std::string Transcript() {
  return std::string(kTranscript) + std::string(70002, 'z') + "use " + std::string(300, 'x') +
         "\r\nreserve-with-timeout 0\r\nquit\r\nuse never\r\n";
}

// Without the 70002 bytes that tell nothing when they are cut.
std::string ShortTranscript() {
  return std::string(kTranscript.substr(0, kTranscript.rfind("put"))) + "use " +
         std::string(230, 'x') + "\r\nreserve-with-timeout 0\r\nquit\r\nuse never\r\n";
}

std::string Whole(const std::string& bytes) {
  Broker broker;
  return Client(broker).Say(bytes);
}

TEST(Pipeline, AnswersEveryCommandInOrder) {
  EXPECT_EQ(
      Whole(Transcript()),
      "USING foo\r\nWATCHING 2\r\nINSERTED 1\r\nINSERTED 2\r\nUNKNOWN_COMMAND\r\nEXPECTED_CRLF\r\n"
      "FOUND 1 5\r\nhello\r\nFOUND 2 0\r\n\r\nRESERVED 2 0\r\n\r\nTOUCHED\r\nRELEASED\r\n"
      "RESERVED 1 5\r\nhello\r\nBURIED\r\nKICKED 1\r\nINSERTED 4\r\nFOUND 4 3\r\n\r\n\r\r\n"
      "NOT_FOUND\r\nNOT_FOUND\r\nPAUSED\r\nOK 20\r\n---\n- default\n- foo\n\r\nUSING foo\r\n"
      "OK 20\r\n---\n- default\n- foo\n\r\nWATCHING 1\r\nNOT_IGNORED\r\nDELETED\r\nNOT_FOUND\r\n"
      "OK 140\r\n---\nid: 2\ntube: foo\nstate: ready\npri: 9\nage: 0\ndelay: 0\nttr: 60\n"
      "time-left: 0\nfile: 0\nreserves: 1\ntimeouts: 0\nreleases: 1\nburies: 0\nkicks: 0\n\r\n"
      "OK 261\r\n---\nname: foo\ncurrent-jobs-urgent: 1\ncurrent-jobs-ready: 1\n"
      "current-jobs-reserved: 0\ncurrent-jobs-delayed: 1\ncurrent-jobs-buried: 0\ntotal-jobs: 3\n"
      "current-using: 1\ncurrent-watching: 0\ncurrent-waiting: 0\ncmd-delete: 1\n"
      "cmd-pause-tube: 1\npause: 0\npause-time-left: 0\n\r\n"
      "BAD_FORMAT\r\nBAD_FORMAT\r\nUNKNOWN_COMMAND\r\nJOB_TOO_BIG\r\nBAD_FORMAT\r\nTIMED_OUT\r\n");
}

TEST(Pipeline, MayBeSplitAnywhere) {
  const std::string bytes = ShortTranscript();
  const std::string expected = Whole(bytes);
  for (std::size_t split = 0; split <= bytes.size(); ++split) {
    Broker broker;
    Client client(broker);
    const std::string first = client.Say(bytes.substr(0, split));
    EXPECT_EQ(first + client.Say(bytes.substr(split)), expected) << split;
    EXPECT_TRUE(client.closed());
  }
}

TEST(Pipeline, MayComeInReadsOfAnySize) {
  const std::string bytes = Transcript();
  const std::string expected = Whole(bytes);
  for (const std::size_t read : {1U, 2U, 3U, 7U, 100U, 223U, 224U, 225U, 4096U, 65536U}) {
    Broker broker;
    Client client(broker);
    EXPECT_EQ(client.Stream(bytes, read), expected) << read;
  }
}

TEST(Pipeline, FiveHundredPuts) {
  std::string bytes;
  std::string expected;
  for (int id = 1; id <= 500; ++id) {
    bytes += "put 0 0 60 3\r\nabc\r\n";
    expected += "INSERTED " + std::to_string(id) + "\r\n";
  }
  EXPECT_EQ(Whole(bytes), expected);
}

TEST(Pipeline, YieldsWhenMuchOutputWaits) {
  Broker broker;
  Client client(broker);
  client.Say("put 0 0 60 60000\r\n" + std::string(60000, 'b') + "\r\n");
  std::string peeks;
  for (int i = 0; i < 20; ++i) peeks += "peek 1\r\n";
  EXPECT_EQ(client.Step(peeks), Next::kYield);
  const std::size_t waiting = client.out().size();
  EXPECT_GT(waiting, gearstalk::TurnShare::kOutput);
  EXPECT_LT(waiting, gearstalk::TurnShare::kOutput + 61000);
  const std::string all = client.Say("");
  EXPECT_EQ(all.size(), 20 * (std::string("FOUND 1 60000\r\n").size() + 60002));
}

// A stream of commands, good and bad, from a fixed seed.
class Babble {
 public:
  explicit Babble(unsigned seed) : random_(seed) {}

  std::string Stream(int pieces) {
    std::string bytes;
    for (int i = 0; i < pieces; ++i) bytes += Piece();
    return bytes;
  }

 private:
  int Below(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  std::string Number() {
    static const std::vector<std::string> kOdd = {
        "", "-1", "x", "4294967296", "99999999999999999999", " 1", "1 "};
    return Below(12) == 0 ? kOdd[static_cast<std::size_t>(Below(7))] : std::to_string(Below(8));
  }
  std::string Tube() {
    static const std::vector<std::string> kTubes = {"a",  "b", "default", "-c",
                                                    "a*", "",  "$reply/1"};
    return kTubes[static_cast<std::size_t>(Below(7))];
  }
  std::string Noise() {
    std::string bytes;
    for (int size = Below(300); size > 0; --size) bytes += static_cast<char>(Below(256));
    return bytes;
  }

  std::string Piece() {
    const std::string end = Below(30) == 0 ? "\n" : Below(30) == 0 ? "\r" : "\r\n";
    switch (Below(20)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const int size = Below(20);
        return "put " + Number() + " " + Number() + " " + Number() + " " + std::to_string(size) +
               end + std::string(static_cast<std::size_t>(size), 'q') + end;
      }
      case 4:
      case 5:
        return "reserve-with-timeout 0" + end;
      case 6:
        return "delete " + Number() + end;
      case 7:
        return "release " + Number() + " " + Number() + " " + Number() + end;
      case 8:
        return "bury " + Number() + " " + Number() + end;
      case 9:
        return "kick " + Number() + end;
      case 10:
        return "use " + Tube() + end;
      case 11:
        return "watch " + Tube() + end;
      case 12:
        return "ignore " + Tube() + end;
      case 13:
        return "reserve-job " + Number() + end;
      case 14:
        return "stats-tube " + Tube() + end + "stats-job " + Number() + end;
      case 15:
        return "peek " + Number() + end + "peek-ready" + end + "peek-buried" + end;
      case 16:
        return "pause-tube " + Tube() + " " + Number() + end;
      case 17:
        return "list-tubes" + end + "list-tubes-watched" + end + "touch " + Number() + end;
      case 18:
        return Below(3) == 0 ? Noise() + "\r\n" : "status" + end;
      default:
        return Below(4) == 0 ? "reserve" + end : "kick-job " + Number() + end;
    }
  }

  std::mt19937 random_;
};

TEST(Pipeline, AnyStreamGetsTheSameAnswersInAnyPieces) {
  for (unsigned seed = 1; seed <= 200; ++seed) {
    const std::string bytes = Babble(seed).Stream(100);
    Broker broker;
    Client client(broker);
    const std::string first = client.Say(bytes);
    const std::string expected = first + client.Eof();
    EXPECT_EQ(broker.engine.CheckInvariants({&dynamic_cast<const Session&>(*client.session())}), "")
        << seed;
    for (const std::size_t read : {1U, 5U, 64U, 224U}) {
      Broker other_broker;
      Client other(other_broker);
      const std::string parts = other.Stream(bytes, read);
      ASSERT_EQ(parts + other.Eof(), expected) << seed << ' ' << read;
    }
  }
}

}  // namespace
}  // namespace gearstalk::beanstalk
