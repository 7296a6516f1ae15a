// Jobs as lines of JSON, there and back.

#include "admin/ctl/json_lines.h"

#include <gtest/gtest.h>

namespace gearstalk::ctl {
namespace {

TEST(JsonLines, AJobComesBack) {
  transfer::Job job;
  job.id = 7;
  job.state = transfer::JobState::kBuried;
  job.tube = "m\xc3\xa4il";
  job.body = std::string_view("\xff\0x", 3);
  job.burial = 9;
  job.keep_on_failure = true;
  const std::string line = JobLine(job);
  EXPECT_EQ(line,
            "{\"job\":7,\"tube\":\"m\xc3\xa4il\",\"state\":\"buried\",\"body_base64\":\"/wB4\","
            "\"keep_on_failure\":true,\"burial\":9}\n");
  JobsLine read;
  ASSERT_TRUE(read.Parse(line).ok());
  EXPECT_EQ(read.job().body, job.body);
  EXPECT_EQ(JobLine(read.job()), line);
}

TEST(JsonLines, WhatPoliciesKnowComesBack) {
  transfer::Job job;
  job.id = 7;
  job.state = transfer::JobState::kDelayed;
  job.tube = "mail";
  job.attempts = 3;
  job.waits = true;
  job.cause = 2;
  job.cause_text = "no such host";
  job.origin = "mail.in";
  job.ended = 5;
  job.expires = 6;
  const std::string line = JobLine(job);
  EXPECT_NE(line.find("\"cause\":\"exception\""), std::string::npos) << line;
  JobsLine read;
  ASSERT_TRUE(read.Parse(line).ok());
  EXPECT_EQ(JobLine(read.job()), line);
  EXPECT_EQ(read.job().cause, job.cause);
  EXPECT_EQ(read.job().attempts, job.attempts);
  EXPECT_EQ(read.job().origin, job.origin);
}

TEST(JsonLines, DamagedLinesAreNamed) {
  JobsLine line;
  for (const char* text :
       {"", "[]", "{\"job\":1}", "{\"job\":\"x\",\"state\":\"ready\",\"tube\":\"t\"}",
        "{\"job\":1,\"state\":\"ready\",\"tube\":\"t\",\"cause\":\"odd\"}",
        "{\"job\":1,\"state\":\"odd\",\"tube\":\"t\"}",
        "{\"job\":1,\"state\":\"ready\",\"tube\":\"t\",\"body_base64\":\"?\"}",
        "{\"gearstalk_jobs\":2}", "{\"end\":3}"}) {
    EXPECT_EQ(line.Parse(text).code(), Code::kCorrupt) << text;
  }
}

}  // namespace
}  // namespace gearstalk::ctl
