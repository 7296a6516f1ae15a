#include "broker/replica/log_space.h"

#include <gtest/gtest.h>

namespace gearstalk {
namespace {

constexpr std::uint64_t kMaxBytes = 1 << 30;

Record RecordOf(Record::Kind kind, std::uint64_t id) {
  Record record;
  record.kind = kind;
  record.id = id;
  return record;
}

// Otherwise the key would be gone with the segment, and the body of its job would count as live.
TEST(LogSpace, AKeyThatStaysTakenIsCarriedForwardInsteadOfItsJob) {
  LogSpace space;
  space.Begin(1);
  space.OnRecord(RecordOf(Record::Kind::kPut, 7), 1000);
  space.OnRecord(RecordOf(Record::Kind::kSeen, 7), 50);
  EXPECT_EQ(space.compactor().live_bytes(), 50U);
  space.Begin(2);
  EXPECT_FALSE(space.compactor().OldestIsDone());
  int steps = 10;
  EXPECT_EQ(space.compactor().NextLive(steps), 7U);
  space.OnCarried(7, 50);
  EXPECT_TRUE(space.compactor().OldestIsDone());
  space.OnRecord(RecordOf(Record::Kind::kDelete, 7), 10);
  EXPECT_EQ(space.compactor().live_bytes(), 0U);
}

TEST(LogSpace, ASegmentThatBeginsWithManySettingsIsLonger) {
  LogSpace space;
  space.Begin(1);
  space.OnSettings(8 << 20);
  EXPECT_FALSE(space.SegmentIsFull(kMaxBytes));
  space.OnRecord(RecordOf(Record::Kind::kPut, 1), 23 << 20);
  EXPECT_FALSE(space.SegmentIsFull(kMaxBytes));
  space.OnRecord(RecordOf(Record::Kind::kPut, 2), 1 << 20);
  EXPECT_TRUE(space.SegmentIsFull(kMaxBytes));
  space.Begin(2);
  space.OnSettings(8 << 20);
  space.OnRecord(RecordOf(Record::Kind::kPut, 3), 8 << 20);
  EXPECT_TRUE(space.SegmentIsFull(64 << 20)) << "of a log that is small beside them";
}

TEST(LogSpace, ASegmentWithFewSettingsHas4Mebibytes) {
  LogSpace space;
  space.Begin(1);
  space.OnSettings(100);
  space.OnRecord(RecordOf(Record::Kind::kPut, 1), (4 << 20) - 1);
  EXPECT_FALSE(space.SegmentIsFull(kMaxBytes));
  space.OnRecord(RecordOf(Record::Kind::kPut, 2), 1);
  EXPECT_TRUE(space.SegmentIsFull(kMaxBytes));
}

}  // namespace
}  // namespace gearstalk
