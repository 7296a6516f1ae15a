// What is said about a configuration that is not good, word for word.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/config/source.h"

namespace gearstalk {
namespace {

TEST(FlagMessage, NamesTheFlagAndTheValue) {
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"--sync", "sometimes"},
       "--sync: 'sometimes': expected always, never, or an interval from 1ms to 3600000ms"},
      {{"--sync", "0ms"},
       "--sync: '0ms': expected always, never, or an interval from 1ms to 3600000ms"},
      {{"--sync", "3600001ms"},
       "--sync: '3600001ms': expected always, never, or an interval from 1ms to 3600000ms"},
      {{"--sync", "ms"},
       "--sync: 'ms': expected always, never, or an interval from 1ms to 3600000ms"},
      {{"--sync", "5s"},
       "--sync: '5s': expected always, never, or an interval from 1ms to 3600000ms"},
      {{"--max-job-size", "0"}, "--max-job-size: '0': expected a number from 1 to 1073741824"},
      {{"--max-job-size", "64k"}, "--max-job-size: '64k': expected a number from 1 to 1073741824"},
      {{"--max-job-size", "99999999999999999999"},
       "--max-job-size: '99999999999999999999': expected a number from 1 to 1073741824"},
      {{"--log-level", "loud"},
       "--log-level: 'loud': expected trace, debug, info, warn, error, critical or off"},
      {{"--server-name", "a b"},
       "--server-name: 'a b': expected 1 to 40 bytes without spaces and without '//'"},
      {{"--server-name", "a//b"},
       "--server-name: 'a//b': expected 1 to 40 bytes without spaces and without '//'"},
      {{"--gearman-worker-wakeup", "some"}, "--gearman-worker-wakeup: 'some': expected all or one"},
      {{"--gearman-exceptions", "yes"}, "--gearman-exceptions: 'yes': expected true or false"},
      {{"--gearman-priority-low", "4294967296"},
       "--gearman-priority-low: '4294967296': expected a number from 0 to 4294967295"},
      {{"--log-format", "xml"}, "--log-format: 'xml': expected text or json"},
      {{"--log-to", "file:log"},
       "--log-to: 'file:log': expected stderr, journald, syslog or file:/PATH"},
      {{"--log-to", "stdout"},
       "--log-to: 'stdout': expected stderr, journald, syslog or file:/PATH"},
      {{"--limits-connections", "many"},
       "--limits-connections: 'many': expected a number from 0 to 4294967295"},
      {{"--limits-output", "1"}, "--limits-output: '1': expected a number from 4096 to 1073741824"},
      {{"--limits-idle-timeout", "1m"},
       "--limits-idle-timeout: '1m': expected a number from 0 to 315360000"},
      {{"--limits-handshake-timeout", "0"},
       "--limits-handshake-timeout: '0': expected a number from 1 to 3600"},
      {{"--limits-stop-timeout", "3601"},
       "--limits-stop-timeout: '3601': expected a number from 0 to 3600"},
      {{"--limits-memory", "1GB"},
       "--limits-memory: '1GB': expected a number from 0 to 1125899906842624"},
      {{"--limits-maxqueue", "mail"},
       "--limits-maxqueue: 'mail': expected 'TUBE N' or 'TUBE HIGH NORMAL LOW'"},
      {{"--limits-maxqueue", "mail 1", "--limits-maxqueue", "mail 1 2"},
       "--limits-maxqueue: 'mail 1 2': expected 'TUBE N' or 'TUBE HIGH NORMAL LOW'"},
      {{"--limits-maxqueue", "mail -1"},
       "--limits-maxqueue: 'mail -1': expected 'TUBE N' or 'TUBE HIGH NORMAL LOW'"},
      {{"--tls-client-certificates", "yes"},
       "--tls-client-certificates: 'yes': expected off, optional or required"},
      {{"--shutdown-from", "here"},
       "--shutdown-from: 'here': expected loopback, anywhere or nowhere"},
      {{"--metrics-tubes", "100001"},
       "--metrics-tubes: '100001': expected a number from 0 to 100000"},
      {{"--daemon", "1"}, "--daemon: '1': expected true or false"},
  };
  for (const auto& [arguments, message] : cases) EXPECT_EQ(Complaint(arguments), message);
}

TEST(FlagMessage, KnowsItsBounds) {
  EXPECT_EQ(Complaint({"--server-name", std::string(40, 'n')}), "good");
  EXPECT_NE(Complaint({"--server-name", std::string(41, 'n')}), "good");
  EXPECT_EQ(Complaint({"--max-job-size", "1073741824"}), "good");
  EXPECT_NE(Complaint({"--max-job-size", "1073741825"}), "good");
  EXPECT_NE(Complaint({"--max-job-size", "-1"}), "good");
  EXPECT_NE(Complaint({"--gearman-default-ttr", "0"}), "good");
}

TEST(FlagMessage, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(Complaint({"--limits-memry", "5"}),
            "unknown flag '--limits-memry'; did you mean '--limits-memory'?");
  EXPECT_EQ(Complaint({"--chek-config=5"}),
            "unknown flag '--chek-config'; did you mean '--check-config'?");
  EXPECT_EQ(Complaint({"word"}), "unexpected argument 'word'");
  EXPECT_NE(Complaint({"--sync"}).find("--sync"), std::string::npos);
}

TEST(EnvironmentMessage, NamesTheVariable) {
  const Variable size("GEARSTALKD_MAX_JOB_SIZE", "big");
  EXPECT_EQ(Complaint({}),
            "GEARSTALKD_MAX_JOB_SIZE: 'big': expected a number from 1 to 1073741824");
}

TEST(EnvironmentMessage, NamesTheVariableOfAGroup) {
  const Variable ttr("GEARSTALKD_GEARMAN_DEFAULT_TTR", "0");
  EXPECT_EQ(Complaint({}),
            "GEARSTALKD_GEARMAN_DEFAULT_TTR: '0': expected a number from 1 to 4294967295");
}

TEST(EnvironmentMessage, NamesTheFileOfAVariable) {
  const ConfigFile file("info\nbig\n");
  const std::string path = file.path();
  {
    const Variable level("GEARSTALKD_LOG_LEVEL_FILE", path.c_str());
    EXPECT_EQ(Complaint({}), "GEARSTALKD_LOG_LEVEL_FILE: expected one line");
    const Variable both("GEARSTALKD_LOG_LEVEL", "info");
    EXPECT_EQ(Complaint({}), "GEARSTALKD_LOG_LEVEL_FILE: GEARSTALKD_LOG_LEVEL is set, too");
  }
  const ConfigFile sizes("# a size\nbig\n");
  const Variable size("GEARSTALKD_MAX_JOB_SIZE_FILE", sizes.path().c_str());
  EXPECT_EQ(Complaint({}),
            sizes.path() + ":2: max_job_size: 'big': expected a number from 1 to 1073741824");
  const Variable missing("GEARSTALKD_MAX_JOB_SIZE_FILE", "/nowhere");
  EXPECT_EQ(Complaint({}), "GEARSTALKD_MAX_JOB_SIZE_FILE: cannot read '/nowhere'");
}

TEST(FileMessage, NamesFileLineAndKey) {
  EXPECT_EQ(FileComplaint("log_level: info\n\nmax_job_size: big\n"),
            "FILE:3: max_job_size: 'big': expected a number from 1 to 1073741824");
  EXPECT_EQ(FileComplaint("gearman:\n  # a comment\n  exceptions: maybe\n"),
            "FILE:3: gearman.exceptions: 'maybe': expected true or false");
}

TEST(FileMessage, OffersTheNearestKey) {
  EXPECT_EQ(FileComplaint("sync: always\nmax_jobsize: 5\n"),
            "FILE:2: unknown key 'max_jobsize'; did you mean 'max_job_size'?");
  EXPECT_EQ(FileComplaint("lisen: 127.0.0.1:1\n"),
            "FILE:1: unknown key 'lisen'; did you mean 'listen'?");
  EXPECT_EQ(FileComplaint("gearman:\n  job_retry: 1\n"),
            "FILE:2: unknown key 'gearman.job_retry'; did you mean 'gearman.job_retries'?");
  EXPECT_EQ(FileComplaint("data-dir: /x\n"),
            "FILE:1: unknown key 'data-dir'; did you mean 'data_dir'?");
}

TEST(FileMessage, NamesTheLineOfAnEntry) {
  EXPECT_EQ(FileComplaint("limits:\n  maxqueue:\n    - mail 5\n    - mail many\n"),
            "FILE:4: limits.maxqueue: 'mail many': expected 'TUBE N' or 'TUBE HIGH NORMAL LOW'");
}

TEST(FileMessage, OffersTheNearestKeyOfAGroup) {
  EXPECT_EQ(FileComplaint("limits:\n  connection: 5\n"),
            "FILE:2: unknown key 'limits.connection'; did you mean 'limits.connections'?");
  EXPECT_EQ(FileComplaint("tls.certificat: /x\n"),
            "FILE:1: unknown key 'tls.certificat'; did you mean 'tls.certificate'?");
}

TEST(FileMessage, FindsTheGroupOfAKey) {
  EXPECT_EQ(FileComplaint("memory: 5\n"),
            "FILE:1: unknown key 'memory'; did you mean 'limits.memory'?");
}

TEST(FileMessage, AGroupMayBeEmptyAndIsNoValue) {
  const ConfigFile file("tls:\n  # certificate: /x\nlimits:\n");
  Good({"--config", file.path()});
  EXPECT_EQ(FileComplaint("sync: always\nlimits: 5\n"),
            "FILE:2: limits: expected 'key: value' lines below it");
}

TEST(FileMessage, NamesAKeyThatIsThereTwice) {
  EXPECT_EQ(FileComplaint("sync: always\nsync: never\n"), "FILE:2: sync: is there twice");
  EXPECT_EQ(FileComplaint("limits.memory: 1\nlimits:\n  memory: 2\n"),
            "FILE:3: limits.memory: is there twice");
  EXPECT_EQ(FileComplaint("tubes: []\nsync: always\ntubes: []\n"), "FILE:3: tubes: is there twice");
}

TEST(FileMessage, WantsOneDocument) {
  EXPECT_EQ(FileComplaint("sync: always\n---\nsync: never\n"), "FILE:3: a second document");
}

TEST(FileMessage, SaysWhatACheckSays) {
  const Checks checks = {{"listen", [](const std::string& text) {
                            return text == "good" ? Status()
                                                  : Status(Code::kInvalid, "no good: " + text);
                          }}};
  const ConfigFile file("listen:\n  - good\n  - bad\n");
  EXPECT_EQ(Complaint({"--config", file.path()}, checks), file.path() + ":3: listen: no good: bad");
  EXPECT_EQ(Complaint({"--listen", "bad"}, checks), "--listen: no good: bad");
}

TEST(EnvironmentMessage, NamesTheVariableOfAList) {
  const Variable limits("GEARSTALKD_LIMITS_MAXQUEUE", "mail 5; news");
  EXPECT_EQ(Complaint({}),
            "GEARSTALKD_LIMITS_MAXQUEUE: 'news': expected 'TUBE N' or 'TUBE HIGH NORMAL LOW'");
}

TEST(FileMessage, WantsValues) {
  EXPECT_EQ(FileComplaint("log_level:\n"), "FILE:1: log_level: expected a value");
  EXPECT_EQ(FileComplaint("listen: []\n"), "FILE:1: listen: expected a value");
  EXPECT_EQ(FileComplaint("log_level: [info]\n"), "FILE:1: log_level: expected a value");
}

TEST(FileMessage, WantsKeysAndValues) {
  EXPECT_EQ(FileComplaint("- a\n- b\n"), "FILE:1: expected 'key: value' lines");
  EXPECT_EQ(FileComplaint("just a word\n"), "FILE:1: expected 'key: value' lines");
}

TEST(FileMessage, SaysWhereItIsNoYaml) {
  const std::string message = FileComplaint("sync: always\nlog_level: \"info\nlisten: x\n");
  EXPECT_TRUE(message.starts_with("FILE:")) << message;
  EXPECT_TRUE(FileComplaint("sync: always\n\tlog_level: info\n").starts_with("FILE:2: "));
}

TEST(FileMessage, WantsScalarsInAList) {
  EXPECT_EQ(FileComplaint("sync: always\nlisten:\n  - {a: b}\n"),
            "FILE:3: listen: expected a text");
}

TEST(FileMessage, NamesAFileThatCannotBeRead) {
  EXPECT_EQ(Complaint({"--config", "/no/such/file.yaml"}),
            "--config: cannot read '/no/such/file.yaml'");
  EXPECT_EQ(Complaint({"--config", "/"}), "--config: cannot read '/'");
}

TEST(FileMessage, AFlagDoesNotHideAMistakeInTheFile) {
  const ConfigFile file("max_job_size: big\n");
  EXPECT_NE(Complaint({"--config", file.path(), "--max-job-size", "5"}), "good");
}

}  // namespace
}  // namespace gearstalk
