#include "broker/engine/unique_index.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "broker/engine/tube.h"
#include "tests/engine/test_job.h"

namespace gearstalk {
namespace {

class UniqueIndexTest : public ::testing::Test {
 protected:
  Job& Add(JobId id, Tube& tube, std::string_view unique, std::string_view body = {}) {
    Job& job = *jobs_.emplace_back(TEST_Job::Make(id, tube, unique, body));
    index_.Insert(job);
    return job;
  }

  TubeTable tubes_;
  Tube& tube_ = tubes_.FindOrMake("f");
  std::vector<JobPtr> jobs_;
  UniqueIndex index_;
};

TEST_F(UniqueIndexTest, KeysOfOneTubeAreNotThoseOfAnother) {
  Tube& other = tubes_.FindOrMake("g");
  Job& job = Add(1, tube_, "key");
  EXPECT_EQ(&job, index_.Find(tube_, "key"));
  EXPECT_EQ(nullptr, index_.Find(other, "key"));
  EXPECT_EQ(nullptr, index_.Find(tube_, "kez"));
  Job& namesake = Add(2, other, "key");
  EXPECT_EQ(&namesake, index_.Find(other, "key"));
  index_.Remove(job);
  EXPECT_EQ(nullptr, index_.Find(tube_, "key"));
  EXPECT_EQ(&namesake, index_.Find(other, "key"));
  index_.Remove(namesake);
}

TEST_F(UniqueIndexTest, ATextAndAnEqualBodyAreTwoKeys) {
  Job& body = Add(1, tube_, "-", "key");
  EXPECT_EQ(nullptr, index_.Find(tube_, "key"));
  EXPECT_EQ(&body, index_.Find(tube_, "key", /*is_body=*/true));
  Job& text = Add(2, tube_, "key");
  EXPECT_EQ(&text, index_.Find(tube_, "key"));
  EXPECT_EQ(&body, index_.Find(tube_, "key", /*is_body=*/true));
  index_.Remove(text);
  index_.Remove(body);
}

TEST_F(UniqueIndexTest, KeysMayHoldAnyByte) {
  const std::string key("a\0b", 3);
  Job& job = Add(1, tube_, key);
  EXPECT_EQ(&job, index_.Find(tube_, key));
  EXPECT_EQ(nullptr, index_.Find(tube_, "a"));
  index_.Remove(job);
}

TEST_F(UniqueIndexTest, OfSeveralWithOneKeyTheFirstIsFound) {
  Job& third = Add(3, tube_, "key");
  Job& fourth = Add(4, tube_, "key");
  EXPECT_EQ(&third, index_.Find(tube_, "key"));
  Job& first = Add(1, tube_, "key");
  Job& second = Add(2, tube_, "key");
  EXPECT_EQ(&first, index_.Find(tube_, "key"));
  index_.Remove(third);
  EXPECT_EQ(&first, index_.Find(tube_, "key"));
  index_.Remove(first);
  EXPECT_EQ(&second, index_.Find(tube_, "key"));
  EXPECT_EQ(2U, index_.size());
  index_.Remove(second);
  EXPECT_EQ(&fourth, index_.Find(tube_, "key"));
  index_.Remove(fourth);
  EXPECT_EQ(nullptr, index_.Find(tube_, "key"));
  EXPECT_EQ(0U, index_.size());
}

// XXH3 is no secret: somebody can make such bodies.
TEST_F(UniqueIndexTest, EqualBodiesAreFoundBehindOthersOfTheirHash) {
  constexpr std::string_view kHash = "the same for all";
  const std::string body(Job::kBlockFrom, 'a'), other(Job::kBlockFrom, 'b');
  const auto add = [&](JobId id, std::string_view with) -> Job& {
    Job& job = *jobs_.emplace_back(TEST_Job::Make(id, tube_, kHash, with));
    job.unique_is_body = true;
    index_.Insert(job);
    return job;
  };
  const auto find = [&](std::string_view with) {
    return index_.FindEqual(tube_, kHash, true, with, [](const Job&) { return false; }).equal;
  };
  Job& first = add(1, body);
  Job& second = add(2, other);
  Job& third = add(3, body);
  EXPECT_EQ(&first, find(body));
  EXPECT_EQ(&second, find(other));
  index_.Remove(first);
  EXPECT_EQ(&third, find(body));
  EXPECT_EQ(&second, find(other));
  index_.Remove(second);
  index_.Remove(third);
  EXPECT_EQ(nullptr, find(body));
}

TEST_F(UniqueIndexTest, FindsEverythingWhileItGrowsAndShrinks) {
  constexpr JobId kJobs = 6000;  // beyond a few segments of buckets
  for (JobId id = 1; id <= kJobs; ++id) {
    Add(id, tube_, std::to_string(id));
    ASSERT_EQ(jobs_.front().get(), index_.Find(tube_, "1"));
  }
  for (const JobPtr& job : jobs_) ASSERT_EQ(job.get(), index_.Find(tube_, job->unique()));
  for (std::size_t gone = 0; gone < jobs_.size(); ++gone) {
    index_.Remove(*jobs_[gone]);
    ASSERT_EQ(nullptr, index_.Find(tube_, jobs_[gone]->unique()));
    if (gone + 1 < jobs_.size()) {
      ASSERT_EQ(jobs_.back().get(), index_.Find(tube_, jobs_.back()->unique()));
    }
  }
  EXPECT_EQ(0u, index_.size());
}

TEST_F(UniqueIndexTest, AgreesWithAMapOverRandomHistories) {
  std::mt19937 random(6);
  std::unordered_map<std::string, JobPtr> expected;
  // Waves of growth and shrinking, each across the size of a segment.
  for (int step = 0; step < 60'000; ++step) {
    const std::string key = std::to_string(random() % 4000);
    const auto found = expected.find(key);
    ASSERT_EQ(found == expected.end() ? nullptr : found->second.get(), index_.Find(tube_, key));
    const bool grow = random() % 8 < (step / 10'000 % 2 == 0 ? 7U : 1U);
    if (grow && found == expected.end()) {
      JobPtr job = TEST_Job::Make(static_cast<JobId>(step + 1), tube_, key);
      index_.Insert(*job);
      expected.emplace(key, std::move(job));
    } else if (!grow && found != expected.end()) {
      index_.Remove(*found->second);
      expected.erase(found);
    }
    ASSERT_EQ(expected.size(), index_.size());
  }
  for (const auto& [key, job] : expected) {
    ASSERT_EQ(job.get(), index_.Find(tube_, key));
    index_.Remove(*job);
  }
}

}  // namespace
}  // namespace gearstalk
