// Jobs as lines of JSON, there and back.

#include "admin/move/sources/json_lines.h"

#include <gtest/gtest.h>

namespace gearstalk::ctl {
namespace {

TEST(JsonLines, AJobComesBack) {
  Record job;
  job.id = 7;
  job.state = Record::State::kBuried;
  job.tube = "m\xc3\xa4il";
  job.body = std::string_view("\xff\0x", 3);
  job.burial = 9;
  job.keep_on_failure = true;
  const std::string line = LineOf(job);
  EXPECT_EQ(line,
            "{\"job\":7,\"tube\":\"m\xc3\xa4il\",\"state\":\"buried\",\"body_base64\":\"/wB4\","
            "\"keep_on_failure\":true,\"burial\":9}\n");
  JobsLine read;
  ASSERT_TRUE(read.Parse(line).ok());
  EXPECT_EQ(read.record().body, job.body);
  EXPECT_EQ(LineOf(read.record()), line);
}

TEST(JsonLines, WhatPoliciesKnowComesBack) {
  Record job;
  job.id = 7;
  job.state = Record::State::kDelayed;
  job.tube = "mail";
  job.failure.attempts = 3;
  job.failure.waits = true;
  job.failure.cause = Record::Cause::kException;
  job.failure.cause_text = "no such host";
  job.failure.origin = "mail.in";
  job.failure.ended = 5;
  job.expires = 6;
  const std::string line = LineOf(job);
  EXPECT_NE(line.find("\"cause\":\"exception\""), std::string::npos) << line;
  JobsLine read;
  ASSERT_TRUE(read.Parse(line).ok());
  EXPECT_EQ(LineOf(read.record()), line);
  EXPECT_EQ(read.record().failure.cause, job.failure.cause);
  EXPECT_EQ(read.record().failure.attempts, job.failure.attempts);
  EXPECT_EQ(read.record().failure.origin, job.failure.origin);
}

TEST(JsonLines, DamagedLinesAreNamed) {
  JobsLine line;
  for (const char* text :
       {"", "[]", "{\"job\":1}", "{\"job\":\"x\",\"state\":\"ready\",\"tube\":\"t\"}",
        "{\"job\":1,\"state\":\"ready\",\"tube\":\"t\",\"cause\":\"odd\"}",
        "{\"job\":1,\"state\":\"odd\",\"tube\":\"t\"}",
        "{\"job\":1,\"state\":\"ready\",\"tube\":\"t\",\"body_base64\":\"?\"}",
        "{\"job\":1,\"state\":\"ready\",\"tube\":\"t\",\"created_ns\":-1}",
        "{\"job\":1,\"state\":\"buried\",\"tube\":\"t\",\"burial\":18446744073709551615}",
        "{\"job\":9223372036854775807,\"state\":\"ready\",\"tube\":\"t\"}",
        "{\"gearstalk_jobs\":2}", "{\"end\":3}"}) {
    EXPECT_EQ(line.Parse(text).code(), Code::kCorrupt) << text;
  }
}

}  // namespace
}  // namespace gearstalk::ctl
