#include "broker/engine/job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "broker/engine/names.h"
#include "broker/engine/slab.h"
#include "tests/engine/test_job.h"

namespace gearstalk {
namespace {

TEST(Job, KeyBodyAndLineEndLieBehindEachOther) {
  const JobPtr job = Job::New(5, "key");
  std::copy_n("hello", 5, job->space().begin());
  EXPECT_EQ("key", job->unique());
  EXPECT_EQ("hello", job->body());
  EXPECT_EQ("hello\r\n", BodyCrlf(*job));
  EXPECT_EQ(7u, job->space().size());
  EXPECT_EQ(job->unique().data() + 3, job->body().data());
}

TEST(Job, EmptyBodyStillEndsALine) {
  const JobPtr job = Job::New(0);
  EXPECT_EQ("", job->body());
  EXPECT_EQ("\r\n", BodyCrlf(*job));
  EXPECT_EQ("", job->unique());
}

TEST(Job, LongestKeyFits) {
  const std::string key(Job::kMaxUnique, 'k');
  EXPECT_EQ(key, Job::New(1, key)->unique());
}

TEST(Job, IsNobodysUntilTheEngineHasIt) {
  const JobPtr job = Job::New(1);
  EXPECT_EQ(JobState::kGone, job->state());
  EXPECT_EQ(0u, job->id());
  EXPECT_EQ(nullptr, job->holder());
  EXPECT_EQ(0u, job->extra().releases);
}

TEST(Job, GrowsWithKeySettingsAndTheBytesThatAreThere) {
  JobPtr small = Job::New(3, "key");
  std::copy_n("abc", 3, small->space().begin());
  small->priority = 7;
  small->ttr_s = 8;
  small->delay_s = 9;
  const JobPtr grown = Job::TryGrow(std::move(small), 6);
  EXPECT_EQ("key", grown->unique());
  EXPECT_EQ(6u, grown->body().size());
  EXPECT_EQ("abc", grown->body().substr(0, 3));
  EXPECT_EQ("\r\n", BodyCrlf(*grown).substr(6));
  EXPECT_EQ(7u, grown->priority);
  EXPECT_EQ(8u, grown->ttr_s);
  EXPECT_EQ(9u, grown->delay_s);
}

TEST(Job, LargeBodyHasABlockOfItsOwn) {
  for (const std::size_t size : {Job::kBlockFrom - 1, Job::kBlockFrom, 100'000U}) {
    const std::size_t before = JobMemory();
    const std::string body(size, 'b');
    {
      const JobPtr job = Job::New(static_cast<std::uint32_t>(size), "key");
      body.copy(job->space().data(), size);
      EXPECT_TRUE(job->has_body());
      EXPECT_EQ("key", job->unique());
      EXPECT_EQ(body, job->body());
      EXPECT_EQ(body + "\r\n", BodyCrlf(*job));
      EXPECT_EQ(job->memory(), JobMemory() - before);
    }
    EXPECT_EQ(before, JobMemory());
  }
}

TEST(Job, GrowsIntoABlock) {
  const std::size_t before = JobMemory();
  JobPtr small = Job::New(3, "key");
  std::copy_n("abc", 3, small->space().begin());
  JobPtr block = Job::TryGrow(std::move(small), Job::kBlockFrom);
  EXPECT_EQ("abc", block->body().substr(0, 3));
  EXPECT_EQ("\r\n", BodyCrlf(*block).substr(Job::kBlockFrom));
  const JobPtr large = Job::TryGrow(std::move(block), 100'000);
  EXPECT_EQ("abc", large->body().substr(0, 3));
  EXPECT_EQ("key", large->unique());
  EXPECT_EQ("\r\n", BodyCrlf(*large).substr(100'000));
  EXPECT_EQ(large->memory(), JobMemory() - before);
}

TEST(Job, MemoryGoesWithTheLastReference) {
  const std::size_t before = JobMemory();
  JobPtr job = Job::New(100'000, "key");
  const std::size_t with = JobMemory();
  EXPECT_GT(with, before + 100'000);
  JobPtr other = Job::Ref(*job);
  EXPECT_EQ(job.get(), other.get());
  job.reset();
  EXPECT_EQ(with, JobMemory());
  EXPECT_EQ("key", other->unique());
  other.reset();
  EXPECT_EQ(before, JobMemory());
}

TEST(Job, ReferencesAreCountedBeyondWhatItsRecordHolds) {
  const std::size_t before = JobMemory();
  {
    JobPtr job = Job::New(1);
    std::vector<JobPtr> references;
    for (int i = 0; i < 200'000; ++i) references.push_back(Job::Ref(*job));
    EXPECT_EQ(references.front().get(), references.back().get());
    references.resize(1'000);
    references.push_back(Job::Ref(*job));
  }
  EXPECT_EQ(before, JobMemory());
}

TEST(JobList, TakesAtBothEndsAndGivesAnywhere) {
  const JobPtr a = Job::New(0), b = Job::New(0), c = Job::New(0), d = Job::New(0);
  JobList list;
  EXPECT_TRUE(list.empty());
  list.PushBack(b.get());
  list.PushBack(c.get());
  list.PushFront(a.get());
  list.PushBack(d.get());
  EXPECT_EQ(a.get(), list.front());
  EXPECT_EQ(d.get(), list.back());
  list.Remove(b.get());
  list.Remove(d.get());
  EXPECT_EQ(c.get(), list.back());
  list.Remove(a.get());
  EXPECT_EQ(c.get(), list.front());
  list.Remove(c.get());
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(nullptr, list.back());
}

TEST(States, HaveNames) {
  EXPECT_EQ("ready", NameOf(JobState::kReady));
  EXPECT_EQ("reserved", NameOf(JobState::kReserved));
  EXPECT_EQ("delayed", NameOf(JobState::kDelayed));
  EXPECT_EQ("buried", NameOf(JobState::kBuried));
  EXPECT_EQ("gone", NameOf(JobState::kGone));
}

TEST(JobLists, AreKeptFromBothEnds) {
  const JobPtr first = TEST_Job::Make(1, 0), second = TEST_Job::Make(2, 0),
               third = TEST_Job::Make(3, 0);
  JobList jobs;
  jobs.PushFront(second.get());
  EXPECT_EQ(second.get(), jobs.back());
  jobs.PushFront(first.get());
  jobs.PushBack(third.get());
  EXPECT_EQ(first.get(), jobs.front());
  EXPECT_EQ(second.get(), JobList::After(*first));
  for (const JobPtr* job : {&second, &first, &third}) jobs.Remove(job->get());
  EXPECT_TRUE(jobs.empty());
  EXPECT_EQ(nullptr, jobs.back());
}

}  // namespace
}  // namespace gearstalk
