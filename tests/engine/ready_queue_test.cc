#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "broker/engine/tube.h"
#include "tests/engine/test_job.h"

namespace gearstalk {
namespace {

class ReadyQueueTest : public ::testing::Test {
 protected:
  Job* Make(JobId id, std::uint32_t priority) {
    return jobs_.emplace_back(TEST_Job::Make(id, priority)).get();
  }
  Job* Push(JobId id, std::uint32_t priority) {
    Job* job = Make(id, priority);
    queue_.Push(job);
    return job;
  }
  std::vector<JobId> TakeAll() {
    std::vector<JobId> ids;
    while (!queue_.empty()) {
      Job* job = queue_.front();
      queue_.Remove(job);
      ids.push_back(job->id());
    }
    return ids;
  }

  std::vector<JobPtr> jobs_;
  ReadyQueue queue_;
};

TEST_F(ReadyQueueTest, LowestPriorityNumberLeavesFirst) {
  Push(1, 5);
  Push(2, 0);
  Push(3, UINT32_MAX);
  Push(4, 5);
  EXPECT_EQ((std::vector<JobId>{2, 1, 4, 3}), TakeAll());
}

TEST_F(ReadyQueueTest, WhatComesBackTakesThePlaceOfItsId) {
  for (const JobId id : {4, 6, 8}) Push(id, 1);
  Push(2, 1);
  Push(5, 1);
  Push(7, 1);
  EXPECT_EQ((std::vector<JobId>{2, 4, 5, 6, 7, 8}), TakeAll());
}

TEST_F(ReadyQueueTest, LateJobsOfAnEmptiedLaneKeepTheirOrder) {
  Job* low = Push(4, 1);
  Job* high = Push(8, 1);
  Push(6, 1);
  queue_.Remove(low);
  queue_.Remove(high);
  Push(9, 1);
  Push(5, 1);
  EXPECT_EQ((std::vector<JobId>{5, 6, 9}), TakeAll());
}

TEST_F(ReadyQueueTest, AnEmptyLaneHidesNoLateJob) {
  Job* low = Push(4, 1);
  Job* high = Push(8, 1);
  Job* late = Push(6, 1);
  queue_.Remove(low);
  queue_.Remove(high);
  EXPECT_EQ(late, queue_.front());
  Push(7, 2);
  EXPECT_EQ((std::vector<JobId>{6, 7}), TakeAll());
}

TEST_F(ReadyQueueTest, RemovalAnywhereLeavesTheRest) {
  std::vector<Job*> pushed;
  for (JobId id = 1; id <= 9; ++id) pushed.push_back(Push(id, 3));
  for (const std::size_t at : {4U, 0U, 8U}) queue_.Remove(pushed[at]);
  EXPECT_EQ(6u, queue_.size());
  EXPECT_EQ((std::vector<JobId>{2, 3, 4, 6, 7, 8}), TakeAll());
}

TEST_F(ReadyQueueTest, AgreesWithASetOverRandomHistories) {
  constexpr std::uint32_t kPriorities[] = {1, 2, 8, UINT32_MAX};
  for (const std::uint32_t priorities : kPriorities) {
    std::mt19937 random(4);
    std::set<std::pair<std::uint32_t, JobId>> expected;
    std::vector<Job*> outside, inside;
    for (JobId id = 1; id <= 300; ++id) {
      outside.push_back(Make(id, static_cast<std::uint32_t>(random() % priorities)));
    }
    std::reverse(outside.begin(), outside.end());
    for (int step = 0; step < 20'000; ++step) {
      const bool push = !outside.empty() && (inside.empty() || random() % 2 == 0);
      std::vector<Job*>& from = push ? outside : inside;
      if (random() % 2 == 0) std::swap(from[random() % from.size()], from.back());
      Job* job = from.back();
      from.pop_back();
      (push ? inside : outside).push_back(job);
      if (push) {
        queue_.Push(job);
        expected.emplace(job->priority, job->id());
      } else {
        queue_.Remove(job);
        expected.erase({job->priority, job->id()});
      }
      ASSERT_EQ(expected.size(), queue_.size());
      if (!expected.empty()) {
        ASSERT_EQ(expected.begin()->second, queue_.front()->id());
      }
    }
    TakeAll();
  }
}

TEST_F(ReadyQueueTest, TheOldestIsInALaneOrAmongTheLateOnes) {
  Job* const lane = Push(4, 1);
  Job* const high = Push(8, 1);
  EXPECT_EQ(4u, queue_.Oldest()->id());
  Push(6, 1);
  EXPECT_EQ(4u, queue_.Oldest()->id()) << "one that came late is younger";
  Push(3, 2);
  EXPECT_EQ(3u, queue_.Oldest()->id()) << "it is in another lane";
  Push(2, 9);
  Push(9, 9);
  EXPECT_EQ(2u, queue_.Oldest()->id());
  Push(10, 12);
  EXPECT_EQ(2u, queue_.Oldest()->id());
  for (Job* const job : {lane, high}) queue_.Remove(job);
  EXPECT_EQ((std::vector<JobId>{6, 3, 2, 9, 10}), TakeAll());
  Job* const first = Push(14, 1);
  Job* const last = Push(18, 1);
  Push(16, 1);
  queue_.Remove(first);
  queue_.Remove(last);
  EXPECT_EQ(16u, queue_.Oldest()->id()) << "the lane is empty";
}

}  // namespace
}  // namespace gearstalk
