// A disk that takes its time for a read holds only those who wait for that body. The reads of this
// disk last until the test lets them go.

#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/engine/slab.h"
#include "broker/journal/journal.h"
#include "broker/journal/wal/wal_journal.h"
#include "tests/journal/faulty_file_system.h"
#include "tests/proto_beanstalk/broker.h"

namespace gearstalk {
namespace {

class SlowDisk : public ::testing::Test {
 protected:
  SlowDisk() {
    broker_.engine.SetLimits({.bodies = 1});
    EXPECT_TRUE(broker_.journal->Start(broker_.engine.records(), events_).ok());
    broker_.engine.records().BecomeActive(broker_.clock.Now());
  }
  ~SlowDisk() override {
    disk_.LetReadsGo();
    EXPECT_TRUE(broker_.journal->Close().ok());
  }

  std::unique_ptr<Journal> Open() {
    WalOptions options;
    options.directory = "/data";
    options.file_system = &disk_;
    return std::move(WalJournal::Open(options).value());
  }
  // The rounds of the loop until `there`.
  template <typename Condition>
  void Until(Condition there) {
    for (broker_.Pass(0); !there(); broker_.Pass(0)) {
      broker_.journal->Flush(0);
      pollfd readable{broker_.journal->NotifyFd(), POLLIN, 0};
      ASSERT_EQ(::poll(&readable, 1, 60'000), 1);
      broker_.journal->OnNotify();
    }
  }
  void AwaitDurable() {
    Until([this] { return broker_.journal->WaitingBytes() == 0; });
  }
  static std::string BodyOf(std::uint64_t id) {
    return (std::to_string(id) + ":").append(std::string(400, 'b'));
  }
  static std::string Reserved(std::uint64_t id) {
    const std::string body = BodyOf(id);
    return "RESERVED " + std::to_string(id) + " " + std::to_string(body.size()) + "\r\n" + body +
           "\r\n";
  }
  // Jobs whose bodies are on the disk alone.
  void PutCold(std::uint64_t jobs) {
    std::string puts;
    for (std::uint64_t id = 1; id <= jobs; ++id) {
      const std::string body = BodyOf(id);
      puts += "put 0 0 10 " + std::to_string(body.size()) + "\r\n" + body + "\r\n";
    }
    producer_.Say(puts);
    Until([&] { return broker_.engine.Stats().bodies.in_journal == jobs; });
  }

  FaultyFileSystem disk_;
  NoEvents events_;
  beanstalk::Broker broker_{{}, Open()};
  beanstalk::Client producer_{broker_}, other_{broker_};
};

TEST_F(SlowDisk, HoldsOnlyThoseWhoWaitForIt) {
  constexpr int kWaiting = 20;  // more than there are threads that read
  PutCold(kWaiting);
  disk_.HoldReads();
  std::vector<std::unique_ptr<beanstalk::Client>> waiting;
  for (int i = 0; i < kWaiting; ++i) {
    waiting.push_back(std::make_unique<beanstalk::Client>(broker_));
    EXPECT_EQ("", waiting.back()->Say("reserve\r\n"));
  }
  other_.Say("use fast\r\nwatch fast\r\nignore default\r\n");
  for (std::uint64_t id = kWaiting + 1; id <= kWaiting + 100; ++id) {
    const std::string number = std::to_string(id);
    EXPECT_EQ("INSERTED " + number + "\r\n", other_.Say("put 0 0 10 4\r\nfast\r\n"));
    AwaitDurable();
    EXPECT_EQ("RESERVED " + number + " 4\r\nfast\r\n", other_.Say("reserve\r\n"));
    EXPECT_EQ("DELETED\r\n", other_.Say("delete " + number + "\r\n"));
    AwaitDurable();
  }
  // The time of those who wait has not begun.
  broker_.Pass(60 * kSecond);
  for (const auto& client : waiting) EXPECT_EQ("", client->Hear());
  EXPECT_EQ(std::size_t{kWaiting}, broker_.engine.Stats().reserved);
  disk_.LetReadsGo();
  Until([&] { return broker_.engine.Stats().bodies.reads == kWaiting; });
  for (std::uint64_t id = 1; id <= kWaiting; ++id) {
    EXPECT_EQ(Reserved(id), waiting[id - 1]->Hear());
  }
  broker_.Pass(8 * kSecond);
  EXPECT_EQ(std::size_t{kWaiting}, broker_.engine.Stats().reserved);
}

TEST_F(SlowDisk, ReservesInAdvanceTakeNoMemory) {
  constexpr std::uint64_t kJobs = 1000, kReserves = 100'000;
  PutCold(kJobs);
  disk_.HoldReads();
  const std::size_t before = JobMemory();
  std::string reserves;
  for (std::uint64_t i = 0; i < kReserves; ++i) reserves += "reserve-with-timeout 0\r\n";
  EXPECT_EQ("", producer_.Say(reserves));
  broker_.Pass(0);
  EXPECT_EQ(before, JobMemory());
  EXPECT_EQ(1U, broker_.engine.Stats().reserved) << "the reply comes before the next command";
  disk_.LetReadsGo();
  Until([&] {
    producer_.Hear();
    return broker_.engine.Stats().reserved == kJobs;
  });
}

TEST_F(SlowDisk, APutThatIsComparedHoldsNoOther) {
  broker_.engine.SetPolicy(broker_.clock.Now(), "default", "unique", "body");
  PutCold(1);
  disk_.HoldReads();
  const std::string body = BodyOf(1);
  const std::string put = "put 0 0 10 " + std::to_string(body.size()) + "\r\n" + body + "\r\n";
  EXPECT_EQ("", producer_.Say(put));
  EXPECT_EQ("INSERTED 2\r\n", other_.Say("put 0 0 10 4\r\nfast\r\n"));
  AwaitDurable();
  EXPECT_EQ("", producer_.Hear());
  disk_.LetReadsGo();
  Until([&] { return broker_.engine.Stats().bodies.reads == 1; });
  EXPECT_EQ("INSERTED 1\r\n", producer_.Hear());
}

}  // namespace
}  // namespace gearstalk
