#include "broker/replica/log_space.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace gearstalk {
namespace {

constexpr std::uint64_t kMaxBytes = 1 << 30;

Record RecordOf(Record::Kind kind, std::uint64_t id) {
  Record record;
  record.kind = kind;
  record.id = id;
  return record;
}

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
  LogSpace space;
  space.Begin(1);
  space.OnRecord(RecordOf(Record::Kind::kPut, 7), 1000);
  space.OnRecord(RecordOf(Record::Kind::kSeen, 7), 50);
  EXPECT_EQ(space.compactor().live_bytes(), 50U);
  space.Begin(2);
  EXPECT_EQ(space.compactor().DropDone(), 0U);
  OneKey state;
  space.compactor().EarnFromStart();
  const auto append = [&space](const Record&) {
    space.OnCarried(50);
    return Compactor::Frame{50};
  };
  EXPECT_TRUE(space.compactor().CarryForward({state, append, {}, {}}));
  EXPECT_EQ(state.asked, (std::vector<std::uint64_t>{7}));
  EXPECT_EQ(space.compactor().DropDone(), 1U);
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
