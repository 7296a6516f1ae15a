// Where options come from, and which source wins.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "broker/config/option.h"
#include "tests/config/source.h"

namespace gearstalk {
namespace {

using Texts = std::vector<std::string>;

TEST(Defaults, AreThoseOfTheStruct) {
  const Config config = Good({});
  EXPECT_EQ(config.listen,
            (Texts{"127.0.0.1:11300", "127.0.0.1:4730", "[::1]:11300", "[::1]:4730"}));
  EXPECT_EQ(config.data_dir, "");
  EXPECT_EQ(config.sync, Sync::kAlways);
  EXPECT_EQ(config.max_job_size, 0U);
  EXPECT_EQ(config.server_name, "");
  EXPECT_EQ(config.log_level, "info");
  EXPECT_EQ(config.gearman.default_ttr, 120U);
  EXPECT_EQ(config.gearman.job_retries, 0U);
  EXPECT_FALSE(config.gearman.wake_all);
  EXPECT_FALSE(config.gearman.exceptions);
  EXPECT_EQ(config.gearman.priority_high, 512U);
  EXPECT_EQ(config.gearman.priority_normal, 65536U);
  EXPECT_EQ(config.gearman.priority_low, 131072U);
}

TEST(Flags, SetEveryOption) {
  const Config config = Good({"--listen",
                              "127.0.0.1:0",
                              "--data-dir",
                              "/var/lib/gearstalkd",
                              "--sync",
                              "never",
                              "--max-job-size",
                              "1000000",
                              "--server-name",
                              "broker",
                              "--log-level",
                              "debug",
                              "--gearman-default-ttr",
                              "60",
                              "--gearman-job-retries",
                              "3",
                              "--gearman-worker-wakeup",
                              "all",
                              "--gearman-exceptions",
                              "true",
                              "--gearman-priority-high",
                              "1",
                              "--gearman-priority-normal",
                              "2",
                              "--gearman-priority-low",
                              "4294967295"});
  EXPECT_EQ(config.listen, Texts{"127.0.0.1:0"});
  EXPECT_EQ(config.data_dir, "/var/lib/gearstalkd");
  EXPECT_EQ(config.sync, Sync::kSystem);
  EXPECT_EQ(config.max_job_size, 1'000'000U);
  EXPECT_EQ(config.server_name, "broker");
  EXPECT_EQ(config.log_level, "debug");
  EXPECT_EQ(config.gearman.default_ttr, 60U);
  EXPECT_EQ(config.gearman.job_retries, 3U);
  EXPECT_TRUE(config.gearman.wake_all);
  EXPECT_TRUE(config.gearman.exceptions);
  EXPECT_EQ(config.gearman.priority_high, 1U);
  EXPECT_EQ(config.gearman.priority_normal, 2U);
  EXPECT_EQ(config.gearman.priority_low, 4'294'967'295U);
}

TEST(Flags, MayBeGivenWithAnEqualsSign) {
  EXPECT_EQ(Good({"--sync=5ms"}).sync_interval, 5 * kMillisecond);
}

TEST(Flags, ListenMayBeRepeated) {
  EXPECT_EQ(Good({"--listen", "127.0.0.1:1", "--listen", "unix:/x,protocols=gearman"}).listen,
            (Texts{"127.0.0.1:1", "unix:/x,protocols=gearman"}));
}

TEST(Flags, OfOthersTheLastOneCounts) {
  EXPECT_EQ(Good({"--log-level", "info", "--log-level", "off"}).log_level, "off");
}

TEST(Environment, SetsOptions) {
  const Variable level("GEARSTALKD_LOG_LEVEL", "warn");
  const Variable retries("GEARSTALKD_GEARMAN_JOB_RETRIES", "7");
  const Variable listen("GEARSTALKD_LISTEN", "127.0.0.1:1,protocols=beanstalk 127.0.0.1:2");
  const Config config = Good({});
  EXPECT_EQ(config.log_level, "warn");
  EXPECT_EQ(config.gearman.job_retries, 7U);
  EXPECT_EQ(config.listen, (Texts{"127.0.0.1:1,protocols=beanstalk", "127.0.0.1:2"}));
}

TEST(Environment, NamesFilesWithValues) {
  const ConfigFile file("# who may\n127.0.0.1:1,protocols=beanstalk\r\n\n127.0.0.1:2");
  const Variable listen("GEARSTALKD_LISTEN_FILE", file.path().c_str());
  EXPECT_EQ(Good({}).listen, (Texts{"127.0.0.1:1,protocols=beanstalk", "127.0.0.1:2"}));
}

TEST(Environment, NamesAFileWithOneValue) {
  const ConfigFile file("warn\n");
  const Variable level("GEARSTALKD_LOG_LEVEL_FILE", file.path().c_str());
  EXPECT_EQ(Good({}).log_level, "warn");
}

TEST(File, SetsOptions) {
  const ConfigFile file(
      "# a comment\n"
      "listen:\n"
      "  - 127.0.0.1:1\n"
      "  - unix:/x,protocols=gearman\n"
      "data_dir: \"/var/lib/gearstalkd\"\n"
      "sync: 250ms\n"
      "max_job_size: 1000\n"
      "gearman:\n"
      "  default_ttr: 60\n"
      "  worker_wakeup: all\n");
  const Config config = Good({"--config", file.path()});
  EXPECT_EQ(config.listen, (Texts{"127.0.0.1:1", "unix:/x,protocols=gearman"}));
  EXPECT_EQ(config.data_dir, "/var/lib/gearstalkd");
  EXPECT_EQ(config.sync, Sync::kInterval);
  EXPECT_EQ(config.sync_interval, 250 * kMillisecond);
  EXPECT_EQ(config.max_job_size, 1000U);
  EXPECT_EQ(config.gearman.default_ttr, 60U);
  EXPECT_TRUE(config.gearman.wake_all);
}

TEST(File, TakesAListOfOneAsAScalar) {
  const ConfigFile file("listen: 127.0.0.1:1\n");
  EXPECT_EQ(Good({"--config", file.path()}).listen, Texts{"127.0.0.1:1"});
}

TEST(File, TakesDottedKeys) {
  const ConfigFile file("gearman.default_ttr: 60\n");
  EXPECT_EQ(Good({"--config", file.path()}).gearman.default_ttr, 60U);
}

TEST(File, MayBeEmpty) {
  for (const char* content : {"", "\n", "# nothing\n", "---\n"}) {
    const ConfigFile file(content);
    EXPECT_EQ(Good({"--config", file.path()}).log_level, "info") << content;
  }
}

TEST(Precedence, FlagsThenEnvironmentThenFile) {
  const ConfigFile file(
      "log_level: trace\nserver_name: file\nmax_job_size: 1\nlisten: 127.0.0.1:1\n");
  const Variable name("GEARSTALKD_SERVER_NAME", "variable");
  const Variable size("GEARSTALKD_MAX_JOB_SIZE", "2");
  const Variable listen("GEARSTALKD_LISTEN", "127.0.0.1:2");
  const Config config = Good({"--max-job-size", "3", "--config", file.path()});
  EXPECT_EQ(config.log_level, "trace");
  EXPECT_EQ(config.server_name, "variable");
  EXPECT_EQ(config.max_job_size, 3U);
  EXPECT_EQ(config.listen, Texts{"127.0.0.1:2"});
}

TEST(Sync, Words) {
  EXPECT_EQ(Good({"--sync", "always"}).sync, Sync::kAlways);
  EXPECT_EQ(Good({"--sync", "never"}).sync, Sync::kSystem);
  const Config shortest = Good({"--sync", "1ms"});
  EXPECT_EQ(shortest.sync, Sync::kInterval);
  EXPECT_EQ(shortest.sync_interval, kMillisecond);
  EXPECT_EQ(Good({"--sync", "3600000ms"}).sync_interval, 3600 * kSecond);
}

TEST(Action, ServesUnlessAskedOtherwise) {
  EXPECT_EQ(Read({}).value().action, CommandLine::Action::kServe);
  EXPECT_EQ(Read({"--check-config"}).value().action, CommandLine::Action::kCheckConfig);
}

TEST(Action, OfAnEmptyNameIsNone) {
  for (const char* flag : {"--config", "--journal-check", "--journal-salvage", "--journal-export",
                           "--journal-import"}) {
    EXPECT_EQ(Complaint({flag, ""}), std::string(flag) + ": expected a name") << flag;
  }
}

TEST(Action, PrintsItsVersion) {
  const Result<CommandLine> line = Read({"--version"});
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line.value().action, CommandLine::Action::kPrintVersion);
}

TEST(Action, HelpNamesEveryOption) {
  const Result<CommandLine> line = Read({"--help"});
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(line.value().action, CommandLine::Action::kPrintAndExit);
  for (const char* flag :
       {"--listen", "--data-dir", "--sync", "--max-job-size", "--server-name", "--log-level",
        "--config", "--check-config", "--version", "--help", "--gearman-default-ttr",
        "--gearman-job-retries", "--gearman-worker-wakeup", "--gearman-exceptions",
        "--gearman-priority-high", "--gearman-priority-normal", "--gearman-priority-low"}) {
    EXPECT_NE(line.value().text.find(flag), std::string::npos) << flag;
  }
}

TEST(Lists, InVariablesArePartedBySemicolonsWhereEntriesHoldBlanks) {
  const Variable limits("GEARSTALKD_LIMITS_MAXQUEUE", "mail 5; news 1 2 3");
  const Variable rights("GEARSTALKD_RIGHTS", "listen=127.0.0.1:1 all;* observe");
  const Config config = Good({});
  using MaxQueue = Config::MaxQueue;
  EXPECT_EQ(config.limits.maxqueue,
            (std::vector{MaxQueue{"mail", {5, 5, 5}}, MaxQueue{"news", {1, 2, 3}}}));
  EXPECT_EQ(config.rights, (Texts{"listen=127.0.0.1:1 all", "* observe"}));
}

TEST(Lists, InVariablesMayBeEmptyWhereTheDefaultIs) {
  const Variable rights("GEARSTALKD_RIGHTS", "");
  EXPECT_EQ(Good({}).rights, Texts());
  const Variable listen("GEARSTALKD_LISTEN", " ");
  EXPECT_EQ(Complaint({}), "GEARSTALKD_LISTEN: expected a value");
}

TEST(Lists, ThatAreGivenReplaceLighterOnes) {
  const ConfigFile file("rights:\n  - \"* all\"\n  - \"* none\"\nlimits:\n  maxqueue: []\n");
  EXPECT_EQ(Good({"--config", file.path()}).rights, (Texts{"* all", "* none"}));
  EXPECT_EQ(Good({"--config", file.path(), "--rights", "* observe"}).rights, Texts{"* observe"});
}

TEST(Options, ReadBackWhatTheyPrint) {
  for (const Option& option : Options()) {
    const std::vector<std::string> values = option.kind.get(Config());
    if (values.empty()) {
      EXPECT_FALSE(option.unset.empty()) << option.key;
      EXPECT_FALSE(option.example.empty()) << option.key;
    }
    Config config;
    if (option.list()) option.kind.clear(config);
    for (const std::string& value : values) {
      EXPECT_TRUE(option.kind.set(config, value).ok()) << option.key << ": " << value;
    }
    EXPECT_TRUE(Difference(config, Config()).empty()) << option.key;
  }
}

TEST(Options, HaveNamesAndHelp) {
  std::set<std::string_view> keys;
  for (const Option& option : Options()) {
    EXPECT_TRUE(keys.insert(option.key).second) << option.key;
    EXPECT_FALSE(option.kind.shape.empty()) << option.key;
    EXPECT_TRUE(option.help.ends_with('.')) << option.key;
  }
}

}  // namespace
}  // namespace gearstalk
