#include "proto_beanstalk/commands.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "tests/proto_beanstalk/broker.h"

namespace gearstalk::beanstalk {
namespace {

TEST(Commands, HaveOneRowAVerb) {
  std::set<Verb> verbs;
  for (const Command& command : Commands()) {
    verbs.insert(command.verb);
    EXPECT_EQ(&CommandOf(command.verb), &command) << command.word;
  }
  EXPECT_EQ(verbs.size(), kVerbs);
}

TEST(Commands, AreFoundByTheirOwnWord) {
  for (const Command& command : Commands()) {
    EXPECT_EQ(FindCommand(command.word), &command) << command.word;
    EXPECT_EQ(FindCommand(std::string(command.word) + "x\r\n"), &command) << command.word;
  }
}

TEST(Commands, GoByTheLongestWord) {
  EXPECT_EQ(FindCommand("reserve-with-timeout 1")->verb, Verb::kReserveWithTimeout);
  EXPECT_EQ(FindCommand("reserve-with-timeout")->verb, Verb::kReserve);
  EXPECT_EQ(FindCommand("reserve-jobs 1")->verb, Verb::kReserve);
  EXPECT_EQ(FindCommand("stats-job")->verb, Verb::kStats);
  EXPECT_EQ(FindCommand("stats-tube x")->verb, Verb::kStatsTube);
  EXPECT_EQ(FindCommand("list-tubes-watche")->verb, Verb::kListTubes);
  EXPECT_EQ(FindCommand("pause-tubeNAME 1")->verb, Verb::kPauseTube);
  EXPECT_EQ(FindCommand("quitxyz")->verb, Verb::kQuit);
}

TEST(Commands, ThatNeedABlankAreUnknownWithoutIt) {
  for (const std::string_view text :
       {"put\r\n", "use\r\n", "delete\r\n", "release\r\n", "bury\r\n", "touch\r\n", "watch\r\n",
        "ignore\r\n", "peek\r\n", "peek-job\r\n", "kick\r\n", "kick-job\r\n", "list-tube\r\n",
        "Stats\r\n", "STATS\r\n", " stats\r\n", "\r\n", "qui\r\n"}) {
    EXPECT_EQ(FindCommand(text), nullptr) << text;
    EXPECT_FALSE(MayBecomeCommand(text)) << text;
  }
}

TEST(Commands, CanBeTakenForOneUntilTheFirstWrongByte) {
  for (const Command& command : Commands()) {
    for (std::size_t size = 1; size < command.word.size(); ++size) {
      const std::string_view part = command.word.substr(0, size);
      EXPECT_TRUE(MayBecomeCommand(part)) << part;
      if (FindCommand(part) != nullptr) continue;
      EXPECT_FALSE(MayBecomeCommand(std::string(part) + "\x01")) << part;
    }
  }
}

using SniffTest = BeanstalkTest;

TEST_F(SniffTest, ClaimsEveryVerbAsSoonAsItIsWhole) {
  for (const Command& command : Commands()) {
    EXPECT_EQ(broker_.protocol.Sniff(command.word), Claim::kYes) << command.word;
  }
  EXPECT_EQ(broker_.protocol.Sniff("p"), Claim::kMaybe);
  EXPECT_EQ(broker_.protocol.Sniff("put"), Claim::kMaybe);
  EXPECT_EQ(broker_.protocol.Sniff("puts"), Claim::kNo);
  EXPECT_EQ(broker_.protocol.Sniff("\r\n"), Claim::kNo);
  EXPECT_EQ(broker_.protocol.Sniff(std::string_view("\0REQ", 4)), Claim::kNo);
  EXPECT_EQ(broker_.protocol.Sniff("\x16\x03"), Claim::kNo);
}

TEST_F(SniffTest, LeavesGearmansAdminWordsAlone) {
  for (const std::string word :
       {"status", "workers", "prioritystatus", "show", "create", "drop", "maxqueue", "version",
        "getpid", "verbose", "cancel", "shutdown", "STATUS", "Status", "WORKERS", "Version"}) {
    for (std::size_t size = 1; size <= word.size(); ++size) {
      EXPECT_NE(broker_.protocol.Sniff(word.substr(0, size)), Claim::kYes) << word;
    }
    EXPECT_EQ(broker_.protocol.Sniff(word), Claim::kNo) << word;
    EXPECT_EQ(broker_.protocol.Sniff(word + "\r\n"), Claim::kNo) << word;
  }
}

TEST_F(SniffTest, AnswersUnknownLinesThatEndInCrLf) {
  const Protocol& protocol = broker_.protocol;
  EXPECT_EQ(protocol.SniffUnknown("foo\r\n"), Claim::kOneMessage);
  EXPECT_EQ(protocol.SniffUnknown("\r\n"), Claim::kOneMessage);
  EXPECT_EQ(protocol.SniffUnknown("foo"), Claim::kMaybe);
  EXPECT_EQ(protocol.SniffUnknown("foo\r"), Claim::kMaybe);
  EXPECT_EQ(protocol.SniffUnknown("foo\n"), Claim::kNo);
  EXPECT_EQ(protocol.SniffUnknown("\n"), Claim::kNo);
  EXPECT_EQ(protocol.SniffUnknown("foo\nbar\r\n"), Claim::kNo);
  EXPECT_EQ(protocol.SniffUnknown("foo\rbar\r\n"), Claim::kOneMessage);
  EXPECT_EQ(protocol.SniffUnknown(std::string(223, 'x')), Claim::kMaybe);
  EXPECT_EQ(protocol.SniffUnknown(std::string(224, 'x') + "\r\n"), Claim::kOneMessage);
}

TEST_F(SniffTest, GoesByTheEndOfAnOverLongUnknownLine) {
  const Protocol& protocol = broker_.protocol;
  EXPECT_EQ(protocol.SniffUnknown(std::string(300, 'x') + "\n"), Claim::kNo);
  EXPECT_EQ(protocol.SniffUnknown(std::string(300, 'x') + "\r\n"), Claim::kOneMessage);
  EXPECT_EQ(protocol.SniffUnknown(std::string(8191, 'x')), Claim::kMaybe);
}

TEST_F(SniffTest, KeepsAConnectionWhoseUnknownLineHasNoEnd) {
  EXPECT_EQ(broker_.protocol.SniffUnknown(std::string(8192, 'x')), Claim::kYes);
}

TEST_F(BeanstalkTest, CommandsAreCountedByTheirNames) {
  a_.Say("put 0 0 60 1\r\na\r\nput 0 0 60 1\r\nb\r\nreserve\r\nnonsense\r\n");
  std::map<std::string, std::uint64_t, std::less<>> counts;
  broker_.protocol.VisitCounts([&counts](std::string_view name, std::uint64_t count) {
    EXPECT_TRUE(counts.emplace(name, count).second) << name << " is visited twice";
  });
  std::erase_if(counts, [](const auto& each) { return each.second == 0; });
  EXPECT_EQ(counts,
            (std::map<std::string, std::uint64_t, std::less<>>{{"put", 2}, {"reserve", 1}}));
  EXPECT_EQ(broker_.protocol.name(), "beanstalk");
}

}  // namespace
}  // namespace gearstalk::beanstalk
