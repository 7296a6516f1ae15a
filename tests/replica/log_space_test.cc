#include "broker/replica/log_space.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/record_of.h"

namespace gearstalk {
namespace {

constexpr std::uint64_t kMaxBytes = 1 << 30;

struct Log {
  explicit Log(bool keeps_bodies = false) : space(compactor, keeps_bodies) {}
  void Append(const Record& record, std::size_t size) {
    compactor.OnRecord(record, space.OnFrame(record, size));
  }

  Compactor compactor;
  LogSpace space;
};

// The state that is left of job 7: its key.
struct OneKey final : LiveState {
  Status Apply(const Record&) override { return {}; }
  bool Capture(std::uint64_t id, const std::function<void(const Record&)>& emit) override {
    asked.push_back(id);
    emit(RecordOf(Record::Kind::kSeen, id));
    return true;
  }
  void CaptureSettings(const std::function<void(const Record&)>&) override {}

  std::vector<std::uint64_t> asked;
};

// Otherwise the key would be gone with the segment, and the body of its job would count as live.
TEST(LogSpace, AKeyThatStaysTakenIsCarriedForwardInsteadOfItsJob) {
  Log log;
  LogSpace& space = log.space;
  space.Begin(1);
  log.Append(RecordOf(Record::Kind::kPut, 7), 1000);
  log.Append(RecordOf(Record::Kind::kSeen, 7), 50);
  EXPECT_EQ(log.compactor.live_bytes(), 50U);
  space.Begin(2);
  EXPECT_EQ(log.compactor.DropDone(), 0U);
  OneKey state;
  log.compactor.EarnFromStart();
  const auto append = [&space](const Record& record) { return space.OnFrame(record, 50); };
  EXPECT_TRUE(log.compactor.CarryForward({state, append, {}, {}}));
  EXPECT_EQ(state.asked, (std::vector<std::uint64_t>{7}));
  EXPECT_EQ(log.compactor.DropDone(), 1U);
  log.Append(RecordOf(Record::Kind::kDelete, 7), 10);
  EXPECT_EQ(log.compactor.live_bytes(), 0U);
}

TEST(LogSpace, ASegmentThatBeginsWithManySettingsIsLonger) {
  Log log;
  LogSpace& space = log.space;
  space.Begin(1);
  space.OnFrame({}, 8 << 20);
  EXPECT_FALSE(space.SegmentIsFull(8 << 20, kMaxBytes));
  log.Append(RecordOf(Record::Kind::kPut, 1), 23 << 20);
  EXPECT_FALSE(space.SegmentIsFull(8 << 20, kMaxBytes));
  log.Append(RecordOf(Record::Kind::kPut, 2), 1 << 20);
  EXPECT_TRUE(space.SegmentIsFull(8 << 20, kMaxBytes));
  space.Begin(2);
  space.OnFrame({}, 8 << 20);
  log.Append(RecordOf(Record::Kind::kPut, 3), 8 << 20);
  EXPECT_TRUE(space.SegmentIsFull(8 << 20, 64 << 20)) << "of a log that is small beside them";
}

using Piece = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>;

std::vector<Piece> Located(const LogSpace& space, std::uint64_t segment, std::uint64_t from,
                           std::uint64_t to) {
  std::vector<PartPiece> pieces;
  space.Locate(segment, from, to, pieces);
  std::vector<Piece> located;
  for (const PartPiece& each : pieces) located.emplace_back(each.seq, each.offset, each.size);
  return located;
}

// Parts 5 to 8, one of them without records; part 9 belongs to no batch, and 10 to the next
// segment.
TEST(LogSpace, AFrameIsInThePartsWhereItsBytesAre) {
  Log log(true);
  LogSpace& space = log.space;
  space.Begin(3);
  EXPECT_FALSE(space.IsStored(3, 1));
  EXPECT_EQ(space.FirstOf(3), UINT64_MAX);
  space.OnStored(3, 5, 0, {100, 100, 0});
  space.OnStored(3, 8, 0, {50});
  space.Begin(4);
  space.OnStored(4, 10, 0, {10});
  EXPECT_TRUE(space.IsStored(3, 250));
  EXPECT_FALSE(space.IsStored(3, 251));
  EXPECT_FALSE(space.IsStored(2, 1));
  EXPECT_FALSE(space.IsStored(5, 1));
  EXPECT_EQ(Located(space, 3, 0, 100), (std::vector<Piece>{{5, 64, 100}}));
  EXPECT_EQ(Located(space, 3, 99, 101), (std::vector<Piece>{{5, 163, 1}, {6, 64, 1}}));
  EXPECT_EQ(Located(space, 3, 100, 130), (std::vector<Piece>{{6, 64, 30}}));
  EXPECT_EQ(Located(space, 3, 10, 250),
            (std::vector<Piece>{{5, 74, 90}, {6, 64, 100}, {8, 64, 50}}));
  EXPECT_EQ(Located(space, 4, 3, 7), (std::vector<Piece>{{10, 67, 4}}));
  EXPECT_EQ(space.FirstOf(3), 5U);
  EXPECT_EQ(space.FirstOf(4), 10U);
}

TEST(LogSpace, FramesLieOneBehindTheOther) {
  Log log(true);
  LogSpace& space = log.space;
  space.Begin(1);
  space.OnFrame({}, 40);
  Record put = RecordOf(Record::Kind::kPut, 7);
  const std::string body(200, 'b');
  put.body = body;
  log.Append(put, 300);
  log.Append(RecordOf(Record::Kind::kCount, 7), 20);
  const Compactor::Frame carried = space.OnFrame(RecordOf(Record::Kind::kSeen, 8), 50);
  const LiveJobs::Place place = log.compactor.Find(7);
  EXPECT_EQ(place.offset, 40U);
  EXPECT_EQ(place.bytes, 300U);
  EXPECT_EQ(place.check, LogSpace::CheckOf(7, body));
  EXPECT_NE(place.check, LogSpace::CheckOf(8, body));
  EXPECT_EQ(carried.offset, 360U);
  EXPECT_EQ(carried.check, 0U) << "a short body never leaves memory";
}

TEST(LogSpace, ASegmentWithFewSettingsHas4Mebibytes) {
  Log log;
  LogSpace& space = log.space;
  space.Begin(1);
  space.OnFrame({}, 100);
  log.Append(RecordOf(Record::Kind::kPut, 1), (4 << 20) - 1);
  EXPECT_FALSE(space.SegmentIsFull(100, kMaxBytes));
  log.Append(RecordOf(Record::Kind::kPut, 2), 1);
  EXPECT_TRUE(space.SegmentIsFull(100, kMaxBytes));
}

// What is needed of the log begins with a part, so it cannot begin with a segment that has none
// yet.
TEST(LogSpace, TheLogBeginsBehindASegmentOnceTheNextOneIsStored) {
  Log log(true);
  LogSpace& space = log.space;
  EXPECT_TRUE(space.IsGone(1));
  EXPECT_FALSE(space.IsStored(1, 0));
  EXPECT_EQ(space.FirstOf(1), UINT64_MAX);
  space.Begin(1);
  log.Append(RecordOf(Record::Kind::kPut, 1), 300);
  space.OnStored(1, 5, 400, {300});
  EXPECT_EQ(log.compactor.DropDone(), 0U) << "it is the only one";
  space.Begin(2);
  EXPECT_EQ(log.compactor.DropDone(), 0U) << "its job lives";
  log.Append(RecordOf(Record::Kind::kDelete, 1), 20);
  EXPECT_EQ(log.compactor.DropDone(), 1U);
  space.Drop(2);
  EXPECT_FALSE(space.Declare(1)) << "the deletion is not durable";
  EXPECT_FALSE(space.Declare(2)) << "the next segment has no part";
  space.OnOldest(4);
  space.OnTrimmed(100);
  EXPECT_FALSE(space.IsGone(1));
  space.OnStored(2, 7, 90, {20});
  EXPECT_TRUE(space.Declare(2));
  EXPECT_EQ(space.oldest(), 7U);
  EXPECT_FALSE(space.Declare(3)) << "once";
  EXPECT_EQ(space.bytes(), 490U);
  space.OnTrimmed(7);
  EXPECT_TRUE(space.IsGone(1));
  EXPECT_EQ(space.bytes(), 90U);
  EXPECT_EQ(space.FirstOf(1), UINT64_MAX);
  EXPECT_EQ(space.FirstOf(3), UINT64_MAX);
}

// The leader has moved the beginning of the log.
TEST(LogSpace, AFollowerLeavesSegmentsAsTheLeaderSays) {
  Log log(true);
  LogSpace& space = log.space;
  for (std::uint32_t segment = 1; segment <= 3; ++segment) {
    space.Begin(segment);
    log.Append(RecordOf(Record::Kind::kPut, segment), 300);
    space.OnStored(segment, 10 * segment, 100, {300});
  }
  log.Append(RecordOf(Record::Kind::kPut, 1), 300);
  space.OnOldest(19);
  EXPECT_FALSE(space.IsGone(1));
  space.OnOldest(20);
  EXPECT_TRUE(space.IsGone(1));
  EXPECT_FALSE(space.IsGone(2));
  EXPECT_EQ(log.compactor.oldest(), 2U);
  EXPECT_EQ(space.oldest(), 20U);
  space.OnOldest(3);
  EXPECT_EQ(space.oldest(), 20U);
  EXPECT_EQ(space.declared(), 20U);
}

}  // namespace
}  // namespace gearstalk
