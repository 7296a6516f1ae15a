#include "broker/journal/census.h"

#include <gtest/gtest.h>

namespace gearstalk {
namespace {

using Kind = Record::Kind;

Record Of(Kind kind, std::uint64_t id) {
  Record record;
  record.kind = kind;
  record.id = id;
  return record;
}

TEST(Census, ALaterRecordMovesAJobToItsSegment) {
  Census census;
  census.Count(Of(Kind::kPut, 1), 1, 100);
  census.Count(Of(Kind::kPut, 2), 1, 100);
  census.Count(Of(Kind::kChange, 1), 2, 30);
  EXPECT_EQ(census.JobsIn(1), 2U);
  census.Count(Of(Kind::kPut, 1), 2, 120);
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
  census.Count(Of(Kind::kPut, 1), 1, 100);
  census.Count(Of(Kind::kSeen, 1), 1, 50);
  EXPECT_EQ(census.jobs(), 0U);
  EXPECT_EQ(census.JobsIn(1), 0U);
  EXPECT_EQ(census.bytes(), 50U);
  EXPECT_TRUE(census.Needs(Of(Kind::kSeen, 1)));
  EXPECT_FALSE(census.Needs(Of(Kind::kPut, 1)));
  EXPECT_FALSE(census.Needs(Of(Kind::kChange, 1)));
  census.Count(Of(Kind::kDelete, 1), 1, 20);
  EXPECT_EQ(census.bytes(), 0U);
  EXPECT_FALSE(census.Needs(Of(Kind::kSeen, 1)));
}

TEST(Census, NeedsWhatTellsOfLiveJobsAndOfSettings) {
  Census census;
  census.Count(Of(Kind::kPut, 1), 1, 100);
  census.Count(Of(Kind::kPut, 2), 1, 100);
  census.Count(Of(Kind::kDelete, 2), 1, 20);
  for (const Kind kind : {Kind::kPut, Kind::kChange, Kind::kCount}) {
    EXPECT_TRUE(census.Needs(Of(kind, 1)));
    EXPECT_FALSE(census.Needs(Of(kind, 2)));
  }
  for (const Kind kind : {Kind::kTube, Kind::kSchedule, Kind::kMark, Kind::kNextId}) {
    EXPECT_TRUE(census.Needs(Of(kind, 0)));
  }
  EXPECT_FALSE(census.Needs(Of(Kind::kDelete, 2)));
  EXPECT_FALSE(census.Needs(Of(Kind::kEnd, 3)));
}

}  // namespace
}  // namespace gearstalk
