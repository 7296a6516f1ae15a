#include "broker/journal/segmented_log.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/record_of.h"

namespace gearstalk {
namespace {

using Kind = Record::Kind;
using Result = BodyRead::Result;

// A medium whose frames have 100 bytes each, and a state whose bodies have left memory.
class Rig final : public Medium, public LiveState {
 public:
  static constexpr std::uint64_t kBytes = 100;
  static constexpr std::uint32_t kBody = 7;
  using Ids = std::vector<std::uint64_t>;
  using Written = std::vector<std::pair<std::uint64_t, std::string>>;

  Rig() {
    log.SetState(*this);
    Begin(1);
  }
  void Begin(std::uint64_t segment) {
    log.compactor().Begin(segment, 0);
    size_ = 0;
  }
  // Job 1 lies in the first segment, which has to go.
  void HasToCarry() {
    log.Append(RecordOf(Kind::kPut, 1));
    Begin(2);
    log.compactor().CarryThrough(1);
    written.clear();
  }
  void Answer(const BodyRead& read, bool lost = false) { log.TakeBody(1, read, lost); }

  Compactor::Frame Write(const Record& record) override {
    EXPECT_EQ(record.body_left_out, 0U);
    written.emplace_back(record.id, record.body);
    size_ += kBytes;
    log.compactor().Resize(size_);
    return {kBytes, size_ - kBytes, 0};
  }
  std::optional<std::uint64_t> RoomIfFull() const override { return {}; }
  bool ReadsBodies() const override { return true; }
  void ReadToCarry(std::uint64_t id, std::uint32_t bytes) override {
    EXPECT_EQ(bytes, kBody);
    asked.push_back(id);
  }
  Time Now() const override { return now; }

  Status Apply(const Record& /*record*/) override { return {}; }
  bool Capture(std::uint64_t id, const std::function<void(const Record&)>& emit) override {
    Record put = RecordOf(Kind::kPut, id);
    put.body_left_out = kBody;
    emit(put);
    return true;
  }
  std::uint32_t BodyLeftOut(std::uint64_t /*id*/) const override { return kBody; }
  bool RestsDamaged(std::uint64_t /*id*/) const override { return rests; }
  void OnBody(std::uint64_t /*id*/, const BodyRead& read) override {
    EXPECT_EQ(read.result, Result::kDamaged);
    problems.emplace_back(read.problem);
  }
  void CaptureSettings(const std::function<void(const Record&)>& emit) override {
    emit(RecordOf(Kind::kNextId, 50));
    emit(RecordOf(Kind::kTube, 0));
  }

  SegmentedLog log{*this};
  Written written;
  Ids asked;
  std::vector<std::string> problems;
  bool rests = false;
  Time now = kSecond;

 private:
  std::uint64_t size_ = 0;
};

TEST(SegmentedLog, SettingsAreNotGarbageUntilTheNextSegmentHasThem) {
  Rig rig;
  rig.log.AppendSettings();
  EXPECT_EQ(rig.log.settings_bytes(), 2 * Rig::kBytes);
  EXPECT_EQ(rig.log.compactor().live_bytes(), 2 * Rig::kBytes);
  rig.Begin(2);
  rig.log.AppendSettings();
  EXPECT_EQ(rig.log.compactor().live_bytes(), 2 * Rig::kBytes);
  EXPECT_EQ(rig.log.DropDone(), 1U);
}

TEST(SegmentedLog, ABodyIsReadBackOnceAndCarried) {
  Rig rig;
  rig.HasToCarry();
  rig.log.CarryForward();
  rig.log.CarryForward();
  EXPECT_EQ(rig.asked, (Rig::Ids{1}));
  EXPECT_TRUE(rig.log.WantsBody(1));
  EXPECT_TRUE(rig.written.empty());
  EXPECT_EQ(rig.log.DropDone(), 0U);
  rig.Answer({.result = Result::kWhole, .body = "payload", .problem = {}});
  rig.log.CarryForward();
  EXPECT_EQ(rig.written, (Rig::Written{{1, "payload"}}));
  EXPECT_FALSE(rig.log.WantsBody(1));
  EXPECT_EQ(rig.log.DropDone(), 1U);
}

TEST(SegmentedLog, AReadThatFailedIsTriedAgainLater) {
  Rig rig;
  rig.HasToCarry();
  rig.log.CarryForward();
  rig.Answer({.result = Result::kFailed, .body = {}, .problem = "no answer"});
  rig.now += kReadAgain - 1;
  rig.log.CarryForward();
  EXPECT_EQ(rig.asked, (Rig::Ids{1}));
  ++rig.now;
  rig.log.CarryForward();
  rig.log.CarryForward();
  EXPECT_EQ(rig.asked, (Rig::Ids{1, 1}));
  EXPECT_FALSE(rig.log.HasUnburied());
}

// A reserved job is buried when it comes back.
TEST(SegmentedLog, AJobThatLostItsBodyGoesOnWithoutItOnceItRests) {
  Rig rig;
  rig.HasToCarry();
  rig.log.CarryForward();
  rig.Answer({.result = Result::kDamaged, .body = {}, .problem = "rot at 5"}, true);
  rig.now += kReadAgain;
  rig.log.CarryForward();
  EXPECT_EQ(rig.asked, (Rig::Ids{1})) << "nothing else can be read";
  EXPECT_TRUE(rig.log.HasUnburied());
  rig.log.BuryLost();
  rig.log.BuryLost();
  EXPECT_EQ(rig.problems, (std::vector<std::string>{"rot at 5", "rot at 5"}));
  rig.rests = true;
  rig.log.BuryLost();
  EXPECT_EQ(rig.problems.size(), 2U);
  EXPECT_FALSE(rig.log.HasUnburied());
  rig.log.CarryForward();
  EXPECT_EQ(rig.written, (Rig::Written{{1, ""}}));
  EXPECT_EQ(rig.log.DropDone(), 1U);
}

TEST(SegmentedLog, AnAnswerAboutAJobThatIsGoneIsOfNoUse) {
  Rig rig;
  rig.HasToCarry();
  rig.log.CarryForward();
  rig.log.Append(RecordOf(Kind::kDelete, 1));
  EXPECT_EQ(rig.log.DropDone(), 1U);
  EXPECT_FALSE(rig.log.WantsBody(1));
  rig.Answer({.result = Result::kDamaged, .body = {}, .problem = "rot"}, true);
  EXPECT_FALSE(rig.log.HasUnburied());
}

}  // namespace
}  // namespace gearstalk
