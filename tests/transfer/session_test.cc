// Connections that move jobs: what they may hold, and that nobody waits for a long request.

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admin/transfer/protocol.h"
#include "broker/engine/slab.h"
#include "broker/transfer/frame.h"
#include "tests/support/socketless.h"
#include "tests/support/socketless_broker.h"

namespace gearstalk::transfer {
namespace {

class TransferSessions : public ::testing::Test {
 protected:
  TransferSessions() {
    tool_.set_session(protocol_.NewSession(tool_));
    tool_.Receive(kGreeting);
    Send(Type::kOpen, Opening{.name = "t", .kind = "test", .fingerprint = "f"});
    tool_.out().TakeAll();
  }

  template <typename Message>
  void Send(Type type, const Message& message, std::string_view body = {}) {
    std::string frame;
    AppendFrame(frame, type, message, body);
    tool_.Receive(frame);
  }

  // The answer to a sync; nothing: there is none.
  std::optional<Ack> Sync() {
    std::string sync;
    AppendFrame(sync, Type::kSync);
    tool_.Receive(sync);
    std::optional<Ack> ack;
    for (const auto& [type, fields] : Heard()) {
      if (type != Type::kAck) continue;
      EXPECT_TRUE(ReadFields(fields, ack.emplace()));
    }
    return ack;
  }

  std::vector<std::pair<Type, std::string>> Heard() {
    const std::string all = tool_.out().TakeAll();
    std::vector<std::pair<Type, std::string>> frames;
    std::string_view rest = all;
    Frame frame;
    for (std::size_t need = 0; TakeFrame(rest, frame, need) == Cut::kWhole;) {
      frames.emplace_back(frame.type, frame.fields);
    }
    return frames;
  }

  static Job JobOf() { return {.created = 1, .tube = "in"}; }

  void Hold(int jobs) {
    for (int i = 0; i < jobs; ++i) {
      Job job = JobOf();
      job.held = 2;
      Send(Type::kHold, job, "body");
    }
    ASSERT_EQ(Problem::kNone, Sync()->problem);
  }

  SocketlessBroker broker_;
  TransferProtocol protocol_{broker_.engine};
  Socketless tool_{broker_.clock, {}};
};

TEST_F(TransferSessions, WhatHasComeOfALargeJobIsCounted) {
  const std::size_t before = JobMemory();
  std::string frame;
  AppendFrame(frame, Type::kPut, JobOf(), std::string(1'000'000, 'x'));
  tool_.Receive(std::string_view(frame).substr(0, 900'000));
  EXPECT_GE(JobMemory(), before + 900'000);
  tool_.Receive(std::string_view(frame).substr(900'000));
  EXPECT_EQ(Problem::kNone, Sync()->problem);
  EXPECT_LT(JobMemory(), before + 1'100'000) << "the frame is gone, the job is there";
  tool_.Receive(std::string_view(frame).substr(0, 900'000));
  tool_.DropSession();
  EXPECT_LT(JobMemory(), before + 1'100'000);
}

TEST_F(TransferSessions, ALargeJobIsRefusedWhenTheMemoryIsFull) {
  broker_.engine.SetLimits({.memory = 300'000});
  const std::size_t before = JobMemory();
  std::string frames;
  AppendFrame(frames, Type::kPut, JobOf(), std::string(10'000'000, 'x'));
  AppendFrame(frames, Type::kSync);
  std::size_t most = 0;
  for (std::string_view rest = frames; !rest.empty();) {
    const std::string_view part = rest.substr(0, 65'536);
    tool_.Receive(part);
    rest.remove_prefix(part.size());
    most = std::max(most, JobMemory() - before);
  }
  EXPECT_LT(most, 1'000'000u);
  EXPECT_EQ(before, JobMemory());
  const auto heard = Heard();
  ASSERT_EQ(1u, heard.size()) << "the frame behind it is read";
  Ack ack;
  ASSERT_TRUE(ReadFields(heard[0].second, ack));
  EXPECT_EQ(Problem::kBusy, ack.problem);
  broker_.engine.SetLimits({});
  Send(Type::kPut, JobOf(), std::string(1'000'000, 'x'));
  EXPECT_EQ(Problem::kNone, Sync()->problem);
}

TEST_F(TransferSessions, FramesAreTheSameInAnyParts) {
  std::string frames;
  for (const std::size_t size : {0, 1, 70'000, 3}) {
    AppendFrame(frames, Type::kPut, JobOf(), std::string(size, 'x'));
  }
  for (const std::size_t part : {1, 4, 5, 7, 65'536}) {
    for (std::size_t at = 0; at < frames.size(); at += part) {
      tool_.Receive(std::string_view(frames).substr(at, part));
    }
    EXPECT_EQ(4u, Sync()->requests) << part;
  }
}

TEST_F(TransferSessions, OthersGetTheirTurnDuringLongRequests) {
  Hold(2'000);
  IdList ids;
  for (std::uint64_t id = 1; id <= 1'000; ++id) ids.ids.push_back(id);
  int yields = tool_.yields();
  Send(Type::kCommit, ids);
  EXPECT_GT(tool_.yields(), yields);
  EXPECT_EQ(1'000u, Sync()->requests);
  yields = tool_.yields();
  Send(Type::kForget, Forgetting{.name = "t", .held = Held::kDrop});
  EXPECT_GT(tool_.yields(), yields);
  EXPECT_EQ(1'001u, Sync()->requests);
  EXPECT_EQ(0u, broker_.engine.transfers().held());
  EXPECT_EQ(nullptr, broker_.engine.transfers().Find("t"));
}

TEST_F(TransferSessions, TheListOfTransfersComesInSlices) {
  const Mark mark{.state = std::string(1'000, 's')};
  for (int i = 0; i < 500; ++i) {
    broker_.engine.transfers().Begin("more" + std::to_string(i), mark, 0, 0);
  }
  const int yields = tool_.yields();
  std::string request;
  AppendFrame(request, Type::kTransfers);
  tool_.Receive(request);
  EXPECT_GT(tool_.yields(), yields + 4);
  const auto heard = Heard();
  ASSERT_EQ(502u, heard.size());
  EXPECT_EQ(Type::kEnd, heard.back().first);
}

TEST_F(TransferSessions, ManyTubesAreLeftInSlices) {
  for (int i = 0; i < 1'000; ++i) {
    Send(Type::kTube, Tube{.tube = "t" + std::to_string(i)});
  }
  ASSERT_EQ(1'000u, Sync()->requests);
  EXPECT_FALSE(tool_.session()->Leave());
  EXPECT_TRUE(tool_.session()->Leave());
  EXPECT_EQ(nullptr, broker_.engine.FindTube("t7"));
}

}  // namespace
}  // namespace gearstalk::transfer
