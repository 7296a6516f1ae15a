#include "broker/journal/compactor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "broker/journal/journal.h"
#include "tests/support/record_of.h"

namespace gearstalk {
namespace {

using Ids = std::vector<std::uint64_t>;
using Kind = Record::Kind;

// A log of jobs whose records all have the same length; it carries what the compactor asks for.
class Log final : public LiveState {
 public:
  static constexpr std::uint64_t kBytes = 100;

  void Begin(std::uint64_t segment) {
    compactor.Begin(segment, 1);
    size_ = 1;
  }
  void Put(std::uint64_t id, std::uint64_t bytes = kBytes) {
    Add(RecordOf(Kind::kPut, id), bytes);
    live.insert(id);
  }
  void Delete(std::uint64_t id) {
    Add(RecordOf(Kind::kDelete, id), kBytes);
    live.erase(id);
  }
  // One call of it; false: another is wanted.
  bool Carry() {
    return compactor.CarryForward({*this,
                                   [this](const Record& record) {
                                     carried.push_back(record.id);
                                     Grow(kBytes);
                                     return Compactor::Frame{kBytes, size_ - kBytes, 0};
                                   },
                                   fits, room, ready});
  }
  Ids JobsAt(std::uint64_t segment, std::uint64_t from, std::uint64_t to) const {
    Ids ids;
    compactor.VisitAt(segment, from, to, [&ids](std::uint64_t id) { ids.push_back(id); });
    return ids;
  }

  Status Apply(const Record& /*record*/) override { return {}; }
  bool Capture(std::uint64_t id, const std::function<void(const Record&)>& emit) override {
    if (!live.contains(id)) return false;
    emit(RecordOf(Kind::kPut, id));
    return true;
  }
  void CaptureSettings(const std::function<void(const Record&)>& /*emit*/) override {}

  Compactor compactor;
  std::set<std::uint64_t> live;
  Ids carried;
  std::function<bool(std::uint64_t)> fits, ready;
  std::optional<std::uint64_t> room;

 private:
  void Grow(std::uint64_t bytes) {
    size_ += bytes;
    compactor.Resize(size_);
  }
  void Add(const Record& record, std::uint64_t bytes) {
    Grow(bytes);
    compactor.OnRecord(record, {bytes, size_ - bytes, 0});
  }

  std::uint64_t size_ = 0;
};

// Many jobs in the first segment, of which only the last one lives.
void FillWithOneLeft(Log& log, std::uint64_t jobs) {
  log.Begin(1);
  for (std::uint64_t id = 1; id <= jobs; ++id) log.Put(id);
  log.Begin(2);
  for (std::uint64_t id = 1; id < jobs; ++id) log.Delete(id);
}

TEST(Compactor, LooksAtABoundedNumberOfRecordsInACall) {
  Log log;
  FillWithOneLeft(log, 10'000);
  EXPECT_FALSE(log.Carry());
  EXPECT_FALSE(log.Carry());
  EXPECT_TRUE(log.carried.empty());
  EXPECT_TRUE(log.Carry());
  EXPECT_EQ(log.carried, Ids{10'000});
  EXPECT_EQ(log.compactor.DropDone(), 1U);
  EXPECT_EQ(log.compactor.oldest(), 2U);
}

TEST(Compactor, CarriesNothingThatDoesNotFit) {
  Log log;
  FillWithOneLeft(log, 100);
  std::vector<std::uint64_t> asked;
  log.fits = [&asked](std::uint64_t bytes) {
    asked.push_back(bytes);
    return false;
  };
  EXPECT_TRUE(log.Carry());
  EXPECT_EQ(asked, std::vector{Log::kBytes});
  EXPECT_TRUE(log.carried.empty());
  EXPECT_EQ(log.compactor.DropDone(), 0U);
  log.fits = [](std::uint64_t) { return true; };
  EXPECT_TRUE(log.Carry());
  EXPECT_EQ(log.carried, Ids{100});
}

// A megabyte of them, and no more until these are here.
TEST(Compactor, AsksForAFewBodiesAhead) {
  Log log;
  log.Begin(1);
  for (std::uint64_t id = 1; id <= 20; ++id) log.Put(id, 300'000);
  for (std::uint64_t id = 21; id <= 60; ++id) log.Put(id, 300'000);
  log.Begin(2);
  for (std::uint64_t id = 21; id <= 60; ++id) log.Delete(id);
  std::set<std::uint64_t> asked;
  bool here = false;
  log.ready = [&](std::uint64_t id) {
    asked.insert(id);
    return here;
  };
  EXPECT_TRUE(log.Carry());
  EXPECT_EQ(asked, (std::set<std::uint64_t>{1, 2, 3, 4}));
  log.Delete(1);
  EXPECT_TRUE(log.Carry());
  EXPECT_EQ(asked, (std::set<std::uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_TRUE(log.carried.empty());
  here = true;
  for (int i = 0; i < 100 && log.compactor.oldest() == 1; ++i) {
    log.Put(1000);
    log.Delete(1000);
    log.Carry();
    log.compactor.DropDone();
  }
  EXPECT_EQ(log.compactor.oldest(), 2U);
  EXPECT_EQ(log.carried.size(), 19U);
}

TEST(Compactor, OnAFullDiskASegmentIsCarriedIfItFitsAndPays) {
  Log log;
  log.Begin(1);
  for (std::uint64_t id = 1; id <= 20; ++id) log.Put(id);
  log.Begin(2);
  for (std::uint64_t id = 1; id <= 10; ++id) log.Delete(id);
  log.room = 1100;
  log.Carry();
  EXPECT_TRUE(log.carried.empty()) << "there is no room";
  log.room = 2000;
  log.Carry();
  EXPECT_EQ(log.carried.size(), 10U);
  EXPECT_EQ(log.compactor.DropDone(), 1U);
  for (std::uint64_t id = 30; id <= 130; ++id) log.Put(id);
  log.Begin(3);
  log.room = 1 << 20;
  log.carried.clear();
  for (int i = 0; i < 5; ++i) log.Carry();
  EXPECT_LT(log.compactor.oldest(), 3U);
  EXPECT_TRUE(log.carried.empty()) << "nearly all of it lives";
}

TEST(Compactor, VisitsTheJobsOfAStretch) {
  Log log;
  log.Begin(1);
  for (std::uint64_t id = 1; id <= 5; ++id) log.Put(id);
  log.Begin(2);
  log.Put(6);
  log.Put(2);
  EXPECT_EQ(log.JobsAt(1, 0, 10'000), (Ids{1, 3, 4, 5}));
  EXPECT_EQ(log.JobsAt(1, 1, 301), (Ids{1, 3}));
  EXPECT_EQ(log.JobsAt(1, 301, 402), (Ids{4, 5}));
  EXPECT_EQ(log.JobsAt(2, 0, 10'000), (Ids{6, 2}));
  EXPECT_EQ(log.JobsAt(0, 0, 10'000), Ids{});
  EXPECT_EQ(log.JobsAt(3, 0, 10'000), Ids{});
}

TEST(Compactor, ASegmentThatAnotherBrokerReleasedGoesIfItIsDoneAndTheOldest) {
  Log log;
  EXPECT_EQ(log.compactor.oldest(), 0U);
  EXPECT_EQ(log.compactor.current(), 0U);
  log.Begin(1);
  log.Put(1);
  log.Begin(2);
  log.Put(2);
  log.Begin(3);
  log.compactor.DropIfDone(1);
  EXPECT_EQ(log.compactor.oldest(), 1U) << "its job lives";
  log.Delete(2);
  log.compactor.DropIfDone(2);
  EXPECT_EQ(log.compactor.oldest(), 1U) << "it is not the oldest";
  log.Delete(1);
  log.compactor.DropIfDone(1);
  EXPECT_EQ(log.compactor.oldest(), 2U);
  log.compactor.DropIfDone(1);
  EXPECT_EQ(log.compactor.oldest(), 2U);
  SegmentStats stats;
  log.compactor.Describe(stats);
  EXPECT_EQ(stats.released, 0U) << "the other broker counts it";
  EXPECT_EQ(stats.count, 2U);
}

TEST(Compactor, KnowsSizesOfTheLogAlone) {
  Log log;
  log.Begin(1);
  for (std::uint64_t id = 1; id <= 4; ++id) log.Put(id);
  log.Begin(2);
  log.Put(9);
  EXPECT_TRUE(log.compactor.MostlyLives(1));
  EXPECT_EQ(log.compactor.BytesOf(0, 7), 401U + 101U);
  EXPECT_EQ(log.compactor.BytesOf(2, 1), 0U);
  for (std::uint64_t id = 1; id <= 3; ++id) log.Delete(id);
  EXPECT_FALSE(log.compactor.MostlyLives(1));
  log.Delete(4);
  EXPECT_EQ(log.compactor.DropDone(), 1U);
  EXPECT_FALSE(log.compactor.MostlyLives(1)) << "it has left the log";
  EXPECT_EQ(log.compactor.BytesOf(0, 1), 0U);
}

TEST(Compactor, AKeyThatIsLeftIsCarriedAsAJobIs) {
  Log log;
  log.Begin(1);
  log.Put(1);
  const std::uint64_t live = log.compactor.live_bytes();
  log.compactor.OnRecord(RecordOf(Kind::kSeen, 1), {40, 101, 0});
  EXPECT_EQ(log.compactor.live_bytes(), live - Log::kBytes + 40);
  log.compactor.OnRecord(RecordOf(Kind::kChange, 1), {70, 141, 0});
  EXPECT_EQ(log.compactor.live_bytes(), 40U);
  EXPECT_EQ(log.compactor.Find(1).bytes, 40U);
}

}  // namespace
}  // namespace gearstalk
