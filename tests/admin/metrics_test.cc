#include "admin/metrics/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "admin/metrics/tube_metrics.h"
#include "tests/admin/reading.h"

namespace gearstalk {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// The lines that begin with `start`.
std::vector<std::string> Lines(const std::string& text, std::string_view start) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(start)) lines.push_back(line);
  }
  return lines;
}

TEST(Metrics, SayWhatTheEngineCounts) {
  Reading reading;
  reading.Put("t");
  reading.Put("t", 5);
  const std::string text = reading.Text();
  for (const char* line :
       {"gearstalkd_jobs{state=\"ready\"} 1\n", "gearstalkd_jobs{state=\"delayed\"} 1\n",
        "gearstalkd_jobs_put_total 2\n", "gearstalkd_tubes 2\n",
        "gearstalkd_connections{protocol=\"undecided\"} 3\n",
        "gearstalkd_connections_accepted_total 9\n",
        "gearstalkd_connections_by_role{role=\"producer\"} 1\n",
        "gearstalkd_received_bytes_total 7\n", "gearstalkd_sent_bytes_total 8\n",
        "gearstalkd_draining 0\n", "gearstalkd_refused_total{reason=\"rights\"} 4\n",
        "gearstalkd_refused_total{reason=\"draining\"} 0\n", "process_start_time_seconds 5\n",
        "gearstalkd_build_info{version=\"1.2.3\",commit=\"abcdef\"} 1\n",
        "gearstalkd_tube_jobs{tube=\"t\",state=\"ready\"} 1\n",
        "gearstalkd_tube_jobs_put_total{tube=\"t\"} 2\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("journal_"))) << "there is no journal to speak of";
}

TEST(Metrics, OldestReadyJob) {
  Reading reading;
  EXPECT_THAT(reading.Text(), HasSubstr("gearstalkd_oldest_ready_job_age_seconds 0\n"));
  reading.Put("t");
  reading.now += 90 * kSecond;
  reading.Put("t");
  const std::string text = reading.Text();
  EXPECT_THAT(text, HasSubstr("gearstalkd_oldest_ready_job_age_seconds 90\n"));
  EXPECT_THAT(text, HasSubstr("gearstalkd_tube_oldest_ready_job_age_seconds{tube=\"t\"} 90\n"));
}

TEST(Metrics, WaitsHaveBucketsThatAddUp) {
  Reading reading;
  reading.Put("default");
  Taken taken;
  reading.engine.Watch(reading.now, reading.producer, "default");
  reading.engine.Reserve(reading.now, reading.producer, 0, taken);
  const std::string text = reading.Text();
  EXPECT_THAT(text, HasSubstr("gearstalkd_reserve_wait_seconds_bucket{le=\"+Inf\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("gearstalkd_reserve_wait_seconds_count 1\n"));
  EXPECT_THAT(text, HasSubstr("gearstalkd_reserve_wait_seconds_sum 0\n"));
}

TEST(Metrics, TheBusiestAreNamedAndTheRestIsSummed) {
  Reading reading;
  reading.metrics.set_tubes(2);
  for (int i = 0; i < 3; ++i) reading.Put("busy");
  for (int i = 0; i < 2; ++i) reading.Put("brisk");
  reading.Put("quiet");
  reading.Put("silent", 60);
  const std::string text = reading.Text();
  EXPECT_THAT(Lines(text, "gearstalkd_tube_jobs_put_total"),
              ElementsAre("gearstalkd_tube_jobs_put_total{tube=\"busy\"} 3",
                          "gearstalkd_tube_jobs_put_total{tube=\"brisk\"} 2"))
      << "a sum of the others would jump when one of them is named";
  EXPECT_THAT(text, HasSubstr("gearstalkd_tube_jobs{tube=\"(other)\",state=\"ready\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("gearstalkd_tube_jobs{tube=\"(other)\",state=\"delayed\"} 1\n"));
}

TEST(Metrics, AllOnRequest) {
  Reading reading;
  reading.metrics.set_tubes(1);
  reading.Put("a");
  reading.Put("b");
  const std::string text = reading.Text(/*all_tubes=*/true);
  EXPECT_EQ(3u, Lines(text, "gearstalkd_tube_workers{").size()) << "the default tube, too";
  EXPECT_THAT(text, Not(HasSubstr("(other)")));
}

TEST(Metrics, WhatWasBusyLongAgoMakesRoom) {
  Reading reading;
  reading.metrics.set_tubes(1);
  Taken taken;
  for (int i = 0; i < 8; ++i) {
    const JobId id = reading.Put("once");
    reading.engine.Delete(reading.now, reading.producer, id);
  }
  reading.engine.CreateFunction("once");
  EXPECT_THAT(reading.Text(), HasSubstr("{tube=\"once\"}"));
  reading.Put("now");
  EXPECT_THAT(reading.Text(), HasSubstr("{tube=\"once\"}"));
  reading.now += 3 * TubeSurvey::kHalfLife;
  const std::string text = reading.Text();
  EXPECT_THAT(text, HasSubstr("{tube=\"now\"}"));
  EXPECT_THAT(text, Not(HasSubstr("{tube=\"once\"}")));
}

TEST(Metrics, ManyTubesTakeManyRounds) {
  Reading reading;
  reading.metrics.set_tubes(5);
  constexpr std::size_t kTubes = 3 * TubeSurvey::kSlice;
  for (std::size_t i = 0; i < kTubes; ++i) reading.Put(std::to_string(i));
  EXPECT_EQ(5u, Lines(reading.Text(), "gearstalkd_tube_workers{").size());
  EXPECT_GT(reading.rounds, 3);
  const std::string all = reading.Text(/*all_tubes=*/true);
  EXPECT_EQ(kTubes + 1, Lines(all, "gearstalkd_tube_workers{").size());
  EXPECT_EQ(1u, Lines(all, "# TYPE gearstalkd_tube_workers ").size()) << "one head a family";
  EXPECT_GT(reading.rounds, 3 * 15);
}

TEST(Metrics, TubesComeAndGoWhileTheyAreRead) {
  Reading reading;
  const JobId id = reading.Put("goes");
  reading.engine.Use(reading.producer, "default");
  HttpBody body = reading.metrics.Read(/*all_tubes=*/true);
  std::string text;
  ASSERT_TRUE(Reading::Advance(body, text));
  reading.engine.Delete(reading.now, reading.producer, id);
  reading.Put("comes");
  while (Reading::Advance(body, text)) {
  }
  EXPECT_THAT(text, HasSubstr("gearstalkd_tube_workers{tube=\"comes\"}"));
  EXPECT_THAT(text, Not(HasSubstr("gearstalkd_tube_workers{tube=\"goes\"}")));
}

class TubeLabels : public testing::Test {
 protected:
  std::string Label(std::string_view name) {
    reading_.Put(name);
    return TubeLabel(*reading_.engine.FindTube(name));
  }
  Reading reading_;
};

TEST_F(TubeLabels, NamesStayAsTheyAre) {
  EXPECT_EQ("mail.out", Label("mail.out"));
  EXPECT_EQ("größe €𝄞", Label("größe €𝄞"));
}

TEST_F(TubeLabels, WhatIsNotTextIsWrittenInHexadecimal) {
  EXPECT_EQ("a\\x09b", Label("a\tb"));
  EXPECT_EQ("a\\x5cb", Label("a\\b"));
  EXPECT_EQ("\\xff\\xfe", Label("\xff\xfe"));
  EXPECT_EQ("\\xc3", Label("\xc3")) << "cut off";
  EXPECT_EQ("\\xc0\\xaf", Label("\xc0\xaf")) << "overlong";
  EXPECT_EQ("\\xed\\xa0\\x80", Label("\xed\xa0\x80")) << "a surrogate";
  EXPECT_EQ("\\xf4\\x90\\x80\\x80", Label("\xf4\x90\x80\x80")) << "beyond Unicode";
}

TEST_F(TubeLabels, NoTubeIsTakenForTheOthers) { EXPECT_EQ("\\x28other)", Label("(other)")); }

TEST_F(TubeLabels, LongNamesAreCutAndStayDifferent) {
  const std::string a = Label(std::string(5000, 'a') + "1");
  const std::string b = Label(std::string(5000, 'a') + "2");
  EXPECT_NE(a, b);
  EXPECT_LT(a.size(), 230u);
  EXPECT_THAT(a, HasSubstr("aaa\\#"));
}

TEST(LoopLags, CountsHowLateARoundCame) {
  LoopLag lag;
  lag.Note(kSecond);
  const Time due = lag.Note(kSecond + 1);
  EXPECT_EQ(kSecond + 1 + LoopLag::kPeriod, due);
  EXPECT_EQ(due, lag.Note(due - 1)) << "not due yet";
  lag.Note(due + 250 * kMillisecond);
  EXPECT_EQ(0.25, lag.lags().sum_seconds());
}

TEST(LoopLags, WakeAnIdleLoopOnceASecond) {
  LoopLag lag;
  EXPECT_EQ(2 * kSecond, lag.Note(kSecond + kMillisecond));
  EXPECT_EQ(3 * kSecond, lag.Note(2 * kSecond));
}

}  // namespace
}  // namespace gearstalk
