#include "broker/replica/follower.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/replica/parts.h"

namespace gearstalk {
namespace {

class Kept final : public Follower::Sink {
 public:
  Status OnBatch(const PartHeader& first, std::uint64_t bytes,
                 const std::vector<std::uint32_t>& parts) override {
    segments.push_back(first.segment);
    for (const std::uint32_t size : parts) pieces.push_back(size);
    stored += bytes;
    return first.seq == refused_batch ? Status(Code::kIo, "no space") : Status();
  }
  Status OnRecord(const Record& record, std::size_t) override {
    ids.push_back(record.id);
    bodies += record.body;
    return record.id == refused ? Status(Code::kInvalid, "refused") : Status();
  }

  std::vector<std::uint64_t> ids, segments;
  std::vector<std::uint32_t> pieces;
  std::string bodies;
  std::uint64_t stored = 0, refused = 0, refused_batch = 0;
};

class FollowerTest : public testing::Test {
 protected:
  Status ApplyAll() {
    return follower.Apply([] { return false; });
  }
  void Good(const LogPart& part) {
    const Status status = follower.Take(part);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  std::string Bad(const LogPart& part) { return follower.Take(part).message(); }

  Kept kept;
  Follower follower{kept};
  PartMaker make;
};

using Ids = std::vector<std::uint64_t>;

TEST_F(FollowerTest, AppliesBatchesInOrder) {
  Good(make.Batch({1, 2}, PartHeader::kBarrier));
  Good(make.Batch({3}));
  EXPECT_TRUE(kept.ids.empty()) << "taken, not applied";
  EXPECT_EQ(follower.behind(), 2U);
  ASSERT_TRUE(ApplyAll().ok());
  EXPECT_EQ(kept.ids, (Ids{1, 2, 3}));
  EXPECT_EQ(kept.bodies, "bodybodybody");
  EXPECT_EQ(follower.last(), 3U);
  EXPECT_EQ(follower.next(), 3U);
  EXPECT_EQ(follower.batches(), 2U);
  EXPECT_EQ(follower.waiting_bytes(), 0U);
  EXPECT_EQ(kept.stored, follower.stored_bytes());
}

TEST_F(FollowerTest, PartsThatWereThereBeforeAreIgnored) {
  LogPart again = make.Batch({1});
  Good(again);
  Good(again);
  Good(make.Batch({2}));
  ASSERT_TRUE(ApplyAll().ok());
  EXPECT_EQ(kept.ids, (Ids{1, 2}));
}

TEST_F(FollowerTest, AFrameMayLieAcrossParts) {
  const std::string payload = FrameOf(PutOf(1, "long body")) + FrameOf(PutOf(2, "end"));
  for (std::size_t at = 0; at < payload.size(); at += 3) {
    const bool more = at + 3 < payload.size();
    Good(make.Part(payload.substr(at, 3), 2, more ? PartHeader::kMore : 0));
    ASSERT_TRUE(ApplyAll().ok());
    EXPECT_EQ(kept.ids.empty(), more) << "whole batches only";
  }
  EXPECT_EQ(kept.bodies, "long bodyend");
}

TEST_F(FollowerTest, ABatchWithoutItsLastPartIsVoidWhenANewEpochComes) {
  Good(make.Batch({1}, PartHeader::kBarrier));
  Good(make.Part("half of", 5, PartHeader::kMore));
  ++make.epoch;
  ++make.segment;
  Good(make.Batch({2}, PartHeader::kBarrier));
  ASSERT_TRUE(ApplyAll().ok());
  EXPECT_EQ(kept.ids, (Ids{1, 2}));
  EXPECT_EQ(follower.voided(), 1U);
  EXPECT_EQ(follower.last(), 2U);
  EXPECT_EQ(kept.stored, follower.stored_bytes());
  EXPECT_EQ(follower.waiting_bytes(), 0U);
}

TEST_F(FollowerTest, AVoidBatchMayBeFollowedByAnother) {
  Good(make.Part("half", 5, PartHeader::kMore | PartHeader::kBarrier));
  ++make.epoch;
  Good(make.Part("half", 5, PartHeader::kMore | PartHeader::kBarrier));
  ++make.epoch;
  Good(make.Batch({9}, PartHeader::kBarrier));
  ASSERT_TRUE(ApplyAll().ok());
  EXPECT_EQ(kept.ids, (Ids{9}));
  EXPECT_EQ(follower.voided(), 2U);
}

TEST_F(FollowerTest, StopsAtAHoleWithTheNameOfTheKey) {
  make.seq = 255;
  follower.Begin(255);
  Good(make.Batch({1}));
  make.Batch({2});
  EXPECT_EQ(Bad(make.Batch({3})), "j/0000000000000100: is missing");
}

TEST_F(FollowerTest, ChecksTheChainButForTheFirstPart) {
  make.chain = 12345;
  Good(make.Batch({1}));
  make.chain ^= 1;
  EXPECT_EQ(Bad(make.Batch({2})), "j/0000000000000002: the checksum is wrong");
}

TEST_F(FollowerTest, PositionsHaveNoHoles) {
  Good(make.Batch({1}));
  ++make.position;
  EXPECT_EQ(Bad(make.Batch({2})), "j/0000000000000002: its first record is number 3, not 2");
}

TEST_F(FollowerTest, TheTailAgreesWithTheEndOfTheLog) {
  LogView view;
  const LogPart last = make.Batch({1});
  const LogPart behind = make.Batch({2});
  view.last = last.seq;
  EXPECT_TRUE(CheckTail(view, {last}).ok());
  EXPECT_EQ(CheckTail(view, {last, behind}).message(),
            "j/0000000000000002: lies behind the end of the journal that `tail` names");
  view.last = behind.seq;
  view.oldest = 2;
  EXPECT_EQ(CheckTail(view, {behind}).message(),
            "tail: the journal begins with j/0000000000000002, but its last part says "
            "j/0000000000000001");
}

// What cannot be read is found where the log is read.
TEST_F(FollowerTest, TheTailSaysNothingOfAPartThatIsDamaged) {
  LogView view;
  LogPart last = make.Batch({1});
  view.last = last.seq;
  view.oldest = 1;
  last.bytes.front() ^= 1;
  EXPECT_TRUE(CheckTail(view, {last}).ok());
  EXPECT_NE(Bad(last), "");
}

TEST_F(FollowerTest, KnowsHowFarItHasApplied) {
  EXPECT_FALSE(follower.HasApplied(1)) << "it has not come";
  Good(make.Batch({1}));
  Good(make.Batch({2}));
  EXPECT_FALSE(follower.HasApplied(1));
  ASSERT_TRUE(ApplyAll().ok());
  Good(make.Batch({3}));
  EXPECT_TRUE(follower.HasApplied(2)) << "the batch that waits is behind it";
  EXPECT_FALSE(follower.HasApplied(3));
  EXPECT_FALSE(follower.HasApplied(4));
  ASSERT_TRUE(ApplyAll().ok());
  EXPECT_TRUE(follower.HasApplied(3));
}

TEST_F(FollowerTest, EpochsRise) {
  make.epoch = 5;
  Good(make.Batch({1}));
  make.epoch = 4;
  EXPECT_EQ(Bad(make.Batch({2})), "j/0000000000000002: epoch 4 comes after 5");
}

TEST_F(FollowerTest, SegmentsRiseByOne) {
  Good(make.Batch({1}));
  make.segment = 3;
  EXPECT_EQ(Bad(make.Batch({2})), "j/0000000000000002: segment 3 comes after 1");
}

TEST_F(FollowerTest, NothingFollowsTheLastBatchOfAnEpoch) {
  Good(make.Batch({1}, PartHeader::kLast));
  PartMaker late = make;
  EXPECT_EQ(Bad(late.Batch({2})), "j/0000000000000002: follows the last batch of its epoch");
  ++make.epoch;
  Good(make.Batch({2}));
}

TEST_F(FollowerTest, TheLastBatchOfAnEpochMayHaveSeveralParts) {
  const std::string payload = FrameOf(PutOf(1, "body"));
  Good(make.Part(payload.substr(0, 5), 1, PartHeader::kLast | PartHeader::kMore));
  Good(make.Part(payload.substr(5), 1, PartHeader::kLast));
  ASSERT_TRUE(ApplyAll().ok());
  EXPECT_EQ(kept.ids, Ids{1});
  ++make.position;
  EXPECT_EQ(Bad(make.Batch({2})), "j/0000000000000003: follows the last batch of its epoch");
}

TEST_F(FollowerTest, AKeyHoldsItsOwnPart) {
  LogPart part = make.Batch({1});
  make.seq = 1;
  make.chain = 0;
  make.position = 1;
  LogPart other = make.Batch({1});
  other.seq = 2;
  Good(part);
  EXPECT_EQ(Bad(other), "j/0000000000000002: holds the part j/0000000000000001");
}

TEST_F(FollowerTest, WhatCannotBeReadStopsIt) {
  Good(make.Part("no frame", 1, 0));
  EXPECT_EQ(ApplyAll().message(), "j/0000000000000001: a record is cut off");
}

TEST_F(FollowerTest, ABatchHasAsManyRecordsAsItSays) {
  Good(make.Part(FrameOf(PutOf(1, "")), 2, 0));
  EXPECT_EQ(ApplyAll().message(), "j/0000000000000001: the batch has 1 records, not 2");
}

TEST_F(FollowerTest, AnErrorOfTheStateEndsIt) {
  kept.refused = 2;
  Good(make.Batch({1, 2, 3}));
  EXPECT_EQ(ApplyAll().message(), "j/0000000000000001: refused");
  EXPECT_EQ(kept.ids, (Ids{1, 2}));
}

TEST_F(FollowerTest, AnErrorOfWhatKeepsBatchesEndsIt) {
  kept.refused_batch = 2;
  Good(make.Batch({1}));
  Good(make.Batch({2}));
  const Status status = ApplyAll();
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_EQ(status.message(), "j/0000000000000002: no space");
  EXPECT_EQ(kept.ids, (Ids{1}));
}

TEST_F(FollowerTest, ABatchWithoutRecordsIsOne) {
  Good(make.Batch({1}));
  Good(make.Batch({}));
  Good(make.Batch({2}));
  ASSERT_TRUE(ApplyAll().ok());
  EXPECT_EQ(kept.ids, (Ids{1, 2}));
}

TEST_F(FollowerTest, AppliesInSlices) {
  std::vector<std::uint64_t> many;
  for (std::uint64_t id = 1; id <= 1000; ++id) many.push_back(id);
  Good(make.Batch(many));
  int slices = 0;
  while (!follower.idle()) {
    ASSERT_TRUE(follower.Apply([] { return true; }).ok());
    ++slices;
  }
  EXPECT_EQ(kept.ids, many);
  EXPECT_GT(slices, 10);
}

TEST(Follower, TheOtherPartsOfABatchSayWhatItsFirstOneSays) {
  const auto take = [](Lsn position, std::uint32_t records, std::uint32_t segment) {
    Kept kept;
    Follower follower(kept);
    PartMaker make;
    follower.Begin(1);
    EXPECT_TRUE(follower.Take(make.Part("half", 2, PartHeader::kMore)).ok());
    make.position = position;
    make.segment = segment;
    return follower.Take(make.Part("half", records, 0)).message();
  };
  const std::string foreign =
      "j/0000000000000002: does not belong to the batch that is open before it";
  EXPECT_EQ(take(1, 2, 1), "");
  EXPECT_EQ(take(2, 2, 1), foreign);
  EXPECT_EQ(take(1, 3, 1), foreign);
  EXPECT_EQ(take(1, 2, 2), foreign);
}

TEST_F(FollowerTest, ARecordThatNobodyKnowsStopsIt) {
  std::string frame = FrameOf(PutOf(1, "body"));
  std::string senseless(frame.size(), '\xff');
  senseless.replace(0, kReplicaFrameHeader, frame, 0, kReplicaFrameHeader);
  Good(make.Part(senseless, 1, 0));
  EXPECT_TRUE(ApplyAll().message().starts_with("j/0000000000000001: "));
  EXPECT_TRUE(kept.ids.empty());
}

}  // namespace
}  // namespace gearstalk
