// `tubes:` and `schedules:` of the configuration file.

#include "broker/config/policies.h"

#include <gtest/gtest.h>

#include "tests/config/source.h"

namespace gearstalk {
namespace {

Config FileConfig(std::string_view content) {
  const ConfigFile file(content);
  return Good({"--config", file.path()});
}

TEST(Tubes, EntriesKeepTheirOrder) {
  const Config config = FileConfig(
      "tubes:\n"
      "  - match: mail\n"
      "    attempts: 5\n"
      "    backoff: 10s..1h\n"
      "  - match: [\"thumb.*\", img]\n"
      "    max_running: 8\n"
      "    copy_to: [a, b]\n");
  ASSERT_EQ(config.tubes.size(), 2U);
  EXPECT_EQ(config.tubes[0].match, "mail");
  EXPECT_EQ(config.tubes[0].values, (PolicyValues{{"attempts", "5"}, {"backoff", "10s..1h"}}));
  EXPECT_EQ(config.tubes[1].match, "thumb.*,img");
  EXPECT_EQ(config.tubes[1].values, (PolicyValues{{"max_running", "8"}, {"copy_to", "a,b"}}));
}

TEST(Tubes, AreNoneByDefault) {
  EXPECT_TRUE(Good({}).tubes.empty());
  EXPECT_TRUE(FileConfig("tubes:\n").tubes.empty());
}

TEST(Tubes, TakeEmptyLists) {
  const Config config =
      FileConfig("tubes:\n  - match: a\n    retry_on: []\n    copy_to: []\n    backoff: []\n");
  ASSERT_EQ(config.tubes.size(), 1U);
  EXPECT_EQ(FileComplaint("tubes:\n  - match: []\n    attempts: 5\n"),
            "FILE:2: tubes.match: '': expected patterns with commas between them");
}

TEST(Tubes, ErrorsNameFileLineAndKey) {
  EXPECT_EQ(FileComplaint("tubes:\n  - match: a\n    attempt: 5\n"),
            "FILE:3: tubes: unknown key 'attempt'; did you mean 'attempts'?");
  EXPECT_EQ(FileComplaint("tubes:\n  - match: a\n    jitter: 200\n"),
            "FILE:3: tubes.jitter: '200': expected a number from 0 to 100");
  EXPECT_EQ(FileComplaint("tubes:\n  - attempts: 5\n"), "FILE:2: tubes: an entry without 'match'");
  EXPECT_EQ(FileComplaint("tubes:\n  - match: \"\"\n    attempts: 5\n"),
            "FILE:2: tubes.match: '': expected patterns with commas between them");
  EXPECT_EQ(FileComplaint("tubes:\n  - match: a\n"), "FILE:2: tubes.a: sets nothing");
  EXPECT_EQ(FileComplaint("tubes: 5\n"),
            "FILE:1: tubes: expected a list, whose entries begin with '- match:'");
  EXPECT_EQ(FileComplaint("tubes:\n  mail:\n    attempts: 5\n"),
            "FILE:2: tubes: expected a list, whose entries begin with '- match:'");
  EXPECT_EQ(FileComplaint("tubes:\n  - match: a\n    ttr_min: 9\n    ttr_max: 8\n"),
            "FILE:2: tubes.a: ttr_min 9 is above ttr_max 8");
}

TEST(Schedules, AreAList) {
  EXPECT_EQ(FileComplaint("schedules:\n  nightly:\n    tube: t\n"),
            "FILE:2: schedules: expected a list, whose entries begin with '- name:'");
}

TEST(Tubes, ANameThatIsFarFromAnyKeyGetsAllOfThem) {
  const std::string complaint = FileComplaint("tubes:\n  - match: a\n    visibility: 5\n");
  EXPECT_TRUE(complaint.starts_with(
      "FILE:3: tubes: unknown key 'visibility'; expected match, attempts, retry_on, "))
      << complaint;
  EXPECT_TRUE(complaint.ends_with(", group_missing or group_on_failure")) << complaint;
}

TEST(Tubes, ADurationIsOneNumberWithOneUnit) {
  for (const char* text : {"1h30m", "1.5s", "1w", "10M", "@every 5m", "-5s", "5 m"}) {
    const std::string entry =
        "tubes:\n  - match: a\n    keep_buried: " + ("'" + std::string(text)) + "'\n";
    EXPECT_EQ(FileComplaint(entry),
              "FILE:3: tubes.keep_buried: '" + std::string(text) +
                  "': expected a duration from 0 to 3650d: one whole number with ms, s, m, h or d, "
                  "such as 90m");
  }
}

TEST(Tubes, OnlySomeKeysTakeLists) {
  EXPECT_EQ(FileComplaint("tubes:\n  - match: a\n    unique: [\"json:/a\", b]\n"),
            "FILE:3: tubes.unique: expected a text: put quotes around it");
}

TEST(Tubes, DoubtsNameKeysWithoutEffect) {
  const auto doubts = [](const std::string& file) {
    return DoubtsAboutTubes(FileConfig(file).tubes);
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(doubts("tubes:\n  - {match: 'a*,*', attempts: 5}\n"
                   "  - {match: mail, attempts: 6, weight: 2}\n"),
            (Texts{"tubes 'mail': its attempts never applies: an entry '*' before it decides that "
                   "for all tubes"}));
  EXPECT_EQ(doubts("tubes:\n  - {match: mail, attempts: 6}\n  - {match: 'm*', attempts: 5}\n"
                   "  - {match: '*', attempts: 5}\n"),
            Texts{});
  const Texts unused = {
      "tubes 'mail': unique_for without unique has no effect: say unique: body or "
      "json:POINTER"};
  EXPECT_EQ(doubts("tubes:\n  - {match: mail, unique_for: 10m}\n"), unused);
  EXPECT_EQ(doubts("tubes:\n  - {match: mail, unique_for: 10m}\n  - {match: x, unique: body}\n"),
            unused);
  EXPECT_EQ(doubts("tubes:\n  - {match: mail, unique_for: 10m}\n  - {match: 'm*', unique: body}\n"),
            Texts{});
  EXPECT_EQ(doubts("tubes:\n  - {match: 'm*', unique_for: 10m}\n  - {match: mail, unique: body}\n"),
            Texts{});
  EXPECT_EQ(doubts("tubes:\n  - {match: mail, unique_for: 0}\n"), Texts{});
}

TEST(Tubes, ALineWantsAnEndToItsAttempts) {
  const auto doubts = [](const std::string& entries) {
    return DoubtsAboutTubes(FileConfig("tubes:\n" + entries).tubes).size();
  };
  const std::string fifo = "  - {match: 'm*', group: line, group_order: fifo}\n";
  EXPECT_EQ(doubts(fifo), 1U);
  // Other tubes of the entry have none.
  EXPECT_EQ(doubts(fifo + "  - {match: mail, attempts: 3}\n"), 1U);
  EXPECT_EQ(doubts(fifo + "  - {match: 'm*', attempts: 3}\n"), 0U);
  EXPECT_EQ(doubts(fifo + "  - {match: '*', attempts: 3}\n"), 0U);
  EXPECT_EQ(doubts(fifo + "  - {match: '*', attempts: 0}\n"), 1U);
}

TEST(Schedules, ABodyIsAText) {
  for (const char* body : {"[1, 2]", "{kind: nightly}"}) {
    EXPECT_EQ(FileComplaint("schedules:\n  - name: a\n    tube: t\n    every: 5\n    body: " +
                            std::string(body) + "\n"),
              "FILE:5: schedules.body: expected a text: put quotes around it");
  }
  EXPECT_EQ(FileComplaint("schedules:\n  - name: a\n    tube: [t, u]\n    every: 5\n"),
            "FILE:3: schedules.tube: expected a text: put quotes around it");
}

TEST(Tubes, AllErrorsAreNamed) {
  EXPECT_EQ(FileComplaint("tubes:\n  - match: a\n    jitter: 200\n    weight: 0\n"),
            "FILE:3: tubes.jitter: '200': expected a number from 0 to 100\n"
            "FILE:4: tubes.weight: '0': expected a number from 1 to 1000");
}

TEST(Schedules, HaveDefaults) {
  const Config config = FileConfig(
      "schedules:\n"
      "  - name: nightly\n"
      "    cron: \"30 2 * * *\"\n"
      "    tube: reports\n"
      "    body: '{\"at\": \"{time}\"}'\n"
      "  - {name: often, every: 10s, tube: t, overlap: allow, catch_up: 0, priority: 7}\n");
  ASSERT_EQ(config.schedules.size(), 2U);
  EXPECT_EQ(config.schedules[0], (Schedule{.name = "nightly",
                                           .cron = "30 2 * * *",
                                           .tube = "reports",
                                           .body = "{\"at\": \"{time}\"}"}));
  EXPECT_EQ(config.schedules[1], (Schedule{.name = "often",
                                           .every = 10 * kSecond,
                                           .tube = "t",
                                           .priority = 7,
                                           .overlap = true,
                                           .catch_up = 0}));
}

TEST(Schedules, ErrorsNameFileLineAndKey) {
  const auto complaint = [](const std::string& entry) {
    return FileComplaint("schedules:\n  - {" + entry + "}\n");
  };
  EXPECT_EQ(complaint("cron: '* * * * *', tube: t"), "FILE:2: schedules: an entry without 'name'");
  EXPECT_EQ(complaint("name: a, tube: t"),
            "FILE:2: schedules: 'a' needs one of 'cron' and 'every'");
  EXPECT_EQ(complaint("name: a, tube: t, every: 5, cron: '* * * * *'"),
            "FILE:2: schedules: 'a' needs one of 'cron' and 'every'");
  EXPECT_EQ(complaint("name: a, every: 5"), "FILE:2: schedules: 'a' has no 'tube'");
  EXPECT_EQ(complaint("name: a, tube: t, cron: '0 0 30 2 *'"),
            "FILE:2: schedules.cron: '0 0 30 2 *': '0 0 30 2 *' is not due in the next 8 years");
  EXPECT_EQ(
      complaint("name: a, tube: t, every: 5, time_zone: /etc/passwd"),
      "FILE:2: schedules.time_zone: '/etc/passwd': unknown time zone '/etc/passwd': expected a "
      "name such as Europe/Berlin");
  EXPECT_EQ(FileComplaint("schedules:\n  - {name: a, tube: t, every: 5}\n"
                          "  - {name: a, tube: t, every: 6}\n"),
            "FILE:3: schedules: two schedules are called 'a'");
}

TEST(TimeZoneOption, IsChecked) {
  EXPECT_EQ(Good({"--time-zone", "Europe/Berlin", "--tube-order", "fair"}).time_zone,
            "Europe/Berlin");
  EXPECT_NE(Complaint({"--time-zone", "Mars"}), "good");
  EXPECT_NE(Complaint({"--tube-order", "random"}), "good");
}

}  // namespace
}  // namespace gearstalk
