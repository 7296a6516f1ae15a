// Connections that move jobs: what they may hold, and that nobody waits for a long request.

#include "admin/move/session/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/engine/slab.h"
#include "broker/transfer/frame.h"
#include "tests/support/kept_journal.h"
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
  void Send(Type type, const Message& message) {
    std::string frame;
    AppendFrame(frame, type, message);
    tool_.Receive(frame);
  }
  void Send(Type type, const Record& record) { tool_.Receive(FrameOf(type, record)); }

  static std::string FrameOf(Type type, const Record& record) {
    std::string frame;
    RecordFrames().Append(frame, type, record);
    return frame;
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

  static Record JobOf(std::string_view body) {
    Record job;
    job.created = 1;
    job.tube = "in";
    job.body = body;
    return job;
  }

  void Hold(int jobs) {
    for (int i = 0; i < jobs; ++i) {
      Record job = JobOf("body");
      job.transfer.held = Record::Held::kSecondPhase;
      Send(Type::kHold, job);
    }
    ASSERT_EQ(Problem::kNone, Sync()->problem);
  }

  SocketlessBroker broker_;
  TransferProtocol protocol_{broker_.engine};
  Socketless tool_{broker_.clock, {}};
};

TEST_F(TransferSessions, WhatHasComeOfALargeJobIsCounted) {
  const std::size_t before = JobMemory();
  const std::string frame = FrameOf(Type::kPut, JobOf(std::string(1'000'000, 'x')));
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
  std::string frames = FrameOf(Type::kPut, JobOf(std::string(10'000'000, 'x')));
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
  Send(Type::kPut, JobOf(std::string(1'000'000, 'x')));
  EXPECT_EQ(Problem::kNone, Sync()->problem);
}

// Who came too late for the answer asks anew: what he hears does not come undone.
TEST_F(TransferSessions, TheNextConnectionHearsOfNothingThatIsNotDurable) {
  auto kept_in = std::make_unique<KeptJournal>();
  KeptJournal& journal = *kept_in;
  SocketlessBroker broker({}, std::move(kept_in));
  TransferProtocol protocol(broker.engine);
  const auto open = [&](Socketless& tool) {
    tool.set_session(protocol.NewSession(tool));
    tool.Receive(kGreeting);
    tool.out().TakeAll();
    std::string frame;
    AppendFrame(frame, Type::kOpen, Opening{.name = "t", .kind = "test", .fingerprint = "f"});
    tool.Receive(frame);
  };
  Socketless first(broker.clock, {}), next(broker.clock, {});
  open(first);
  journal.HoldBack();
  first.Receive(FrameOf(Type::kPut, JobOf("body")));
  first.DropSession();
  open(next);
  iovec piece;
  EXPECT_EQ(next.out().Gather(&piece, 1, journal.Durable()), 0);
  EXPECT_EQ(next.out().Gather(&piece, 1, journal.last()), 1);
}

TEST_F(TransferSessions, FramesAreTheSameInAnyParts) {
  std::string frames;
  for (const std::size_t size : {0, 1, 70'000, 3}) {
    frames += FrameOf(Type::kPut, JobOf(std::string(size, 'x')));
  }
  for (const std::size_t part : {1, 4, 5, 7, 65'536}) {
    for (std::size_t at = 0; at < frames.size(); at += part) {
      tool_.Receive(std::string_view(frames).substr(at, part));
    }
    EXPECT_EQ(4u, Sync()->requests) << part;
  }
}

// What only the journal knows of a job would be applied by a replay.
TEST_F(TransferSessions, AJobBringsNothingOfAnotherJournal) {
  Record job = JobOf("body");
  job.id = 7;
  job.put_key = "key";
  job.seen_until = kSecond;
  job.schedule.name = "nightly";
  job.transfer.name = "other";
  job.transfer.mark = "mark";
  job.transfer.settled = true;
  job.transfer.source_id = 3;
  job.group = {"other", "line"};
  job.home = {"other", "line"};
  const std::string bytes = FrameOf(Type::kPut, job);
  RecordFrames frames;
  Frame frame;
  std::string_view rest = bytes;
  std::size_t need = 0;
  ASSERT_EQ(Cut::kWhole, TakeFrame(rest, frame, need));
  Record read;
  ASSERT_TRUE(frames.Read(frame, read).ok());
  EXPECT_EQ(7u, read.id);
  EXPECT_EQ("body", read.body);
  EXPECT_EQ(3u, read.transfer.source_id);
  EXPECT_EQ("", read.put_key);
  EXPECT_EQ(0, read.seen_until);
  EXPECT_EQ("", read.schedule.name);
  EXPECT_EQ("", read.transfer.name);
  EXPECT_EQ("", read.transfer.mark);
  EXPECT_FALSE(read.transfer.settled);
  EXPECT_EQ("", read.group.source);
  EXPECT_EQ("", read.home.source);
}

TEST_F(TransferSessions, ARecordOfAnotherKindIsRefused) {
  Record gone;
  gone.kind = Record::Kind::kDelete;
  gone.id = 1;
  Send(Type::kPut, gone);
  EXPECT_EQ(Problem::kBad, Sync()->problem);
  gone.kind = Record::Kind::kTube;
  gone.tube = "in";
  Send(Type::kHold, gone);
  EXPECT_EQ(Problem::kBad, Sync()->problem);
  Send(Type::kTube, JobOf("body"));
  EXPECT_EQ(Problem::kBad, Sync()->problem);
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
    const std::string name = "t" + std::to_string(i);
    Record tube;
    tube.kind = Record::Kind::kTube;
    tube.tube = name;
    Send(Type::kTube, tube);
  }
  ASSERT_EQ(1'000u, Sync()->requests);
  EXPECT_FALSE(tool_.session()->Leave());
  EXPECT_TRUE(tool_.session()->Leave());
  EXPECT_EQ(nullptr, broker_.engine.FindTube("t7"));
}

}  // namespace
}  // namespace gearstalk::transfer
