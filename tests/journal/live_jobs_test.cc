#include "broker/journal/live_jobs.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/support/record_of.h"

namespace gearstalk {
namespace {

TEST(LiveJobs, AgreesWithAMap) {
  LiveJobs jobs;
  std::map<std::uint64_t, LiveJobs::Place> expected;
  std::mt19937_64 lot(1);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t id = lot() % 3 == 0 ? lot() % 1000 : UINT64_MAX - lot() % 1000;
    const auto known = expected.find(id);
    const LiveJobs::Place before = known == expected.end() ? LiveJobs::Place{} : known->second;
    LiveJobs::Place reported;
    if (lot() % 2 == 0) {
      const LiveJobs::Place place{1 + lot() % 1000, lot() % 100'000, lot() % UINT32_MAX,
                                  i < 50'000 ? 0 : static_cast<std::uint32_t>(lot() % 3)};
      reported = jobs.Set(id, place);
      expected[id] = place;
    } else {
      reported = jobs.Erase(id);
      expected.erase(id);
    }
    ASSERT_EQ(reported.segment, before.segment);
    ASSERT_EQ(reported.bytes, before.bytes);
    ASSERT_EQ(reported.offset, before.offset);
    ASSERT_EQ(reported.check, before.check);
    ASSERT_EQ(jobs.size(), expected.size());
  }
  for (const auto& [id, place] : expected) EXPECT_EQ(jobs.Find(id).segment, place.segment);
}

using Kind = Record::Kind;

TEST(Census, ALaterRecordMovesAJobToItsSegment) {
  Census census;
  census.Count(RecordOf(Kind::kPut, 1), 1, 100);
  census.Count(RecordOf(Kind::kPut, 2), 1, 100);
  census.Count(RecordOf(Kind::kChange, 1), 2, 30);
  EXPECT_EQ(census.JobsIn(1), 2U);
  census.Count(RecordOf(Kind::kPut, 1), 2, 120);
  EXPECT_EQ(census.JobsIn(1), 1U);
  EXPECT_EQ(census.JobsIn(2), 1U);
  EXPECT_EQ(census.JobsIn(3), 0U);
  EXPECT_EQ(census.records(), 4U);
  EXPECT_EQ(census.jobs(), 2U);
  EXPECT_EQ(census.bytes(), 220U);
  EXPECT_EQ(census.next_id(), 3U);
}

TEST(Census, AKeyThatAJobLeftIsLiveAndNoJob) {
  Census census;
  census.Count(RecordOf(Kind::kPut, 1), 1, 100);
  census.Count(RecordOf(Kind::kSeen, 1), 1, 50);
  EXPECT_EQ(census.jobs(), 0U);
  EXPECT_EQ(census.JobsIn(1), 0U);
  EXPECT_EQ(census.bytes(), 50U);
  EXPECT_TRUE(census.Needs(RecordOf(Kind::kSeen, 1)));
  EXPECT_FALSE(census.Needs(RecordOf(Kind::kPut, 1)));
  EXPECT_FALSE(census.Needs(RecordOf(Kind::kChange, 1)));
  census.Count(RecordOf(Kind::kDelete, 1), 1, 20);
  EXPECT_EQ(census.bytes(), 0U);
  EXPECT_FALSE(census.Needs(RecordOf(Kind::kSeen, 1)));
}

TEST(Census, NeedsWhatTellsOfLiveJobsAndOfSettings) {
  Census census;
  census.Count(RecordOf(Kind::kPut, 1), 1, 100);
  census.Count(RecordOf(Kind::kPut, 2), 1, 100);
  census.Count(RecordOf(Kind::kDelete, 2), 1, 20);
  for (const Kind kind : {Kind::kPut, Kind::kChange, Kind::kCount}) {
    EXPECT_TRUE(census.Needs(RecordOf(kind, 1)));
    EXPECT_FALSE(census.Needs(RecordOf(kind, 2)));
  }
  for (const Kind kind : {Kind::kTube, Kind::kSchedule, Kind::kMark, Kind::kNextId}) {
    EXPECT_TRUE(census.Needs(RecordOf(kind, 0)));
  }
  EXPECT_FALSE(census.Needs(RecordOf(Kind::kDelete, 2)));
  EXPECT_FALSE(census.Needs(RecordOf(Kind::kEnd, 3)));
}

}  // namespace
}  // namespace gearstalk
