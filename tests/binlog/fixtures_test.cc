// Logs of real servers against the jobs that they hold.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "broker/binlog/directory.h"

namespace gearstalk::binlog {
namespace {

using Json = nlohmann::json;

constexpr Time kNow = 1'800'000'000 * kSecond;  // after all of them were made

const char* NameOf(State state) {
  return state == State::kDelayed ? "delayed" : state == State::kBuried ? "buried" : "ready";
}

Json AsJson(const Directory& log, const Job& job) {
  Json json = {{"job", job.id},
               {"tube", log.index().tube(job)},
               {"state", NameOf(job.state)},
               {"priority", job.priority},
               {"ttr_s", job.ttr_s},
               {"delay_s", job.delay_s},
               {"created_ns", job.created},
               {"keep_on_failure", true}};
  const auto set = [&](const char* name, auto value) {
    if (value != 0) json[name] = value;
  };
  set("due_ns", job.due);
  set("burial", job.burial);
  set("reserves", job.counters.reserves);
  set("timeouts", job.counters.timeouts);
  set("releases", job.counters.releases);
  set("buries", job.counters.buries);
  set("kicks", job.counters.kicks);
  return json;
}

class Fixture : public testing::TestWithParam<const char*> {};

TEST_P(Fixture, GivesTheJobsOfTheServer) {
  const std::string directory = std::string(GEARSTALK_FIXTURES) + "/" + GetParam();
  const Json expected = Json::parse(std::ifstream(directory + "/expected.json"));
  const Result<Directory> read = Directory::Read(directory, kNow);
  ASSERT_TRUE(read.ok()) << read.status().message();
  const Directory& log = read.value();
  EXPECT_EQ(log.index().damaged(), expected["exit"] == 4);
  EXPECT_GE(log.index().next_id(), expected["next_id_at_least"].get<std::uint64_t>());
  std::map<std::uint64_t, Json> jobs;
  for (const Job& job : log.index().jobs()) jobs[job.id] = AsJson(log, job);
  std::size_t bodies = 0;
  for (Json job : expected["jobs"]) {
    if (job.contains("body")) {
      ++bodies;
      const auto& index = log.index().jobs();
      const auto at = std::find_if(index.begin(), index.end(),
                                   [&](const Job& each) { return each.id == job["job"]; });
      ASSERT_NE(at, index.end()) << job;
      EXPECT_EQ(log.BodyOf(*at), job["body"].get<std::string>());
    }
    job.erase("body");
    job.erase("body_base64");
    EXPECT_EQ(jobs[job["job"]], job);
  }
  EXPECT_GT(bodies, 0U);
  EXPECT_EQ(jobs.size(), expected["jobs"].size());
  for (const Json& note : expected["notes"]) {
    const auto& notes = log.index().notes();
    EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [&](const Note& each) {
      return each.file == note["file"] && each.offset == note["offset"];
    })) << note;
  }
}

INSTANTIATE_TEST_SUITE_P(Logs, Fixture,
                         testing::Values("binlog-v5", "binlog-v5-v7", "binlog-v7-states",
                                         "binlog-v7-files", "binlog-v7-restarts", "binlog-v7-limit",
                                         "binlog-v7-torn-1", "binlog-v7-torn-3",
                                         "binlog-v7-damaged", "binlog-v7-cut"),
                         [](const auto& each) {
                           std::string name = each.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace gearstalk::binlog
