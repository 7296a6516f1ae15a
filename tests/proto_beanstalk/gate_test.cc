// Replies that acknowledge a change wait for the journal; refused changes are said so.

#include <array>
#include <string>

#include "proto_beanstalk/session.h"
#include "tests/proto_beanstalk/broker.h"

namespace gearstalk::beanstalk {
namespace {

// Numbers its records, and syncs only when a test says so.
class SlowJournal final : public Journal {
 public:
  Status Start(LiveState& /*state*/, JournalEvents& /*events*/) override { return {}; }
  bool Persistent() const override { return true; }
  Lsn Append(const Record& /*record*/) override { return ++appended; }
  bool Accepts(Record::Kind /*kind*/) const override { return accepts; }
  Status Health() const override { return {}; }
  void Flush(Time /*now*/) override {}
  Lsn Durable() const override { return durable; }
  void SetOnDurable(std::function<void(Lsn)> /*on_durable*/) override {}
  std::uint64_t WaitingBytes() const override { return 0; }
  JournalStats Stats() const override { return {.appends = appended}; }
  SegmentStats Segments() const override {
    return {.oldest = 3, .current = 5, .size = 1024, .migrated = 7};
  }
  Status Close() override { return {}; }

  Lsn appended = 0;
  Lsn durable = 0;
  bool accepts = true;
};

class GateTest : public ::testing::Test {
 protected:
  GateTest() : GateTest(std::make_unique<SlowJournal>()) {}
  explicit GateTest(std::unique_ptr<SlowJournal> journal)
      : journal_(*journal), broker_({}, std::move(journal)) {}

  static std::string Leaving(Client& client, Lsn durable) {
    std::array<iovec, 16> pieces;
    const int count = client.out().Gather(pieces.data(), pieces.size(), durable);
    std::string bytes;
    for (int i = 0; i < count; ++i) {
      const iovec& piece = pieces[static_cast<std::size_t>(i)];
      bytes.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    }
    return bytes;
  }

  // Runs `command`, whose one record has to be durable before `reply` may leave.
  void ExpectHeld(Client& client, const std::string& command, const std::string& reply) {
    const Lsn before = journal_.appended;
    client.Step(command + "\r\n");
    EXPECT_EQ(journal_.appended, before + 1) << command;
    EXPECT_EQ(Leaving(client, before), "") << command;
    EXPECT_EQ(Leaving(client, before + 1), reply + "\r\n") << command;
    client.Hear();
    journal_.durable = journal_.appended;
  }

  SlowJournal& journal_;
  Broker broker_;
  Client a_{broker_};
};

TEST_F(GateTest, AcknowledgedChangesAreDurable) {
  ExpectHeld(a_, "put 0 0 60 1\r\nx", "INSERTED 1");
  a_.Say("reserve\r\n");
  ExpectHeld(a_, "release 1 5 0", "RELEASED");
  a_.Say("reserve\r\n");
  ExpectHeld(a_, "bury 1 5", "BURIED");
  ExpectHeld(a_, "kick 10", "KICKED 1");
  a_.Say("reserve\r\n");
  ExpectHeld(a_, "release 1 5 9", "RELEASED");
  ExpectHeld(a_, "kick-job 1", "KICKED");
  ExpectHeld(a_, "pause-tube default 5", "PAUSED");
  ExpectHeld(a_, "delete 1", "DELETED");
}

TEST_F(GateTest, AJobIsNotHandedOutBeforeItsPutIsDurable) {
  Client b(broker_);
  b.Say("reserve\r\n");
  a_.Step("put 0 0 60 1\r\nx\r\n");
  EXPECT_EQ(Leaving(b, 0), "");
  EXPECT_EQ(Leaving(b, 1), "RESERVED 1 1\r\nx\r\n");
}

TEST_F(GateTest, QuestionsAndRefusalsDoNotWait) {
  a_.Step("use t\r\ndelete 1\r\nwatch t\r\npeek-ready\r\nreserve-with-timeout 0\r\n");
  EXPECT_EQ(Leaving(a_, 0), "USING t\r\nNOT_FOUND\r\nWATCHING 2\r\nNOT_FOUND\r\nTIMED_OUT\r\n");
}

TEST_F(GateTest, AKickOfManyIsHeldByItsLastRecord) {
  constexpr int kSlice = kSliceItems;
  for (int i = 0; i <= kSlice; ++i) a_.Say("put 0 9 60 1\r\nx\r\n");
  const Lsn before = journal_.appended;
  EXPECT_EQ(a_.Step("kick 2000\r\n"), Next::kYield);
  EXPECT_EQ(a_.Step(""), Next::kBytes);
  EXPECT_EQ(Leaving(a_, before + kSlice), "");
  EXPECT_EQ(Leaving(a_, before + kSlice + 1), "KICKED " + std::to_string(kSlice + 1) + "\r\n");
}

TEST_F(GateTest, AKickThatTheJournalEndsSaysHowFarItCame) {
  constexpr int kSlice = kSliceItems;
  for (int i = 0; i <= kSlice; ++i) a_.Say("put 0 9 60 1\r\nx\r\n");
  EXPECT_EQ(a_.Step("kick 2000\r\n"), Next::kYield);
  journal_.accepts = false;
  EXPECT_EQ(a_.Step(""), Next::kBytes);
  EXPECT_EQ(a_.Hear(), "KICKED " + std::to_string(kSlice) + "\r\n");
}

TEST_F(GateTest, AJournalThatRefusesIsOutOfMemory) {
  EXPECT_EQ(a_.Say("put 0 0 60 1\r\nx\r\nput 0 9 60 1\r\nx\r\n"), "INSERTED 1\r\nINSERTED 2\r\n");
  a_.Say("reserve\r\n");
  journal_.accepts = false;
  EXPECT_EQ(a_.Say("put 0 0 60 4\r\nquit\r\n"), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(a_.Say("bury 1 0\r\n"), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(a_.Say("kick 1\r\n"), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(a_.Say("kick-job 2\r\n"), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(a_.Say("delete 1\r\n"), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(a_.Say("pause-tube default 1\r\n"), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(a_.Say("peek 2\r\n"), "FOUND 2 1\r\nx\r\n");
}

TEST_F(GateTest, StatsShowTheJournalAsBinlog) {
  a_.Say("put 0 0 60 1\r\nx\r\n");
  const std::string stats = a_.Say("stats\r\n");
  EXPECT_EQ(ValueOf(stats, "binlog-oldest-index"), "3");
  EXPECT_EQ(ValueOf(stats, "binlog-current-index"), "5");
  EXPECT_EQ(ValueOf(stats, "binlog-records-migrated"), "7");
  EXPECT_EQ(ValueOf(stats, "binlog-records-written"), "1");
  EXPECT_EQ(ValueOf(stats, "binlog-max-size"), "1024");
}

}  // namespace
}  // namespace gearstalk::beanstalk
