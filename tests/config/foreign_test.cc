// The options of beanstalkd and gearmand in our words.

#include "broker/config/foreign.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/config/source.h"

namespace gearstalk {
namespace {

using Texts = std::vector<std::string>;

Translation As(const std::string& program, Texts arguments) {
  Result<Translation> translation = TranslateAs(program, arguments);
  EXPECT_TRUE(translation.ok()) << translation.status().message();
  return translation.ok() ? translation.value() : Translation();
}

Config ConfigAs(const std::string& program, Texts arguments) {
  return Good(As(program, std::move(arguments)).arguments);
}

std::string ComplaintAs(const std::string& program, const Texts& arguments) {
  const Result<Translation> translation = TranslateAs(program, arguments);
  return translation.ok() ? "good" : translation.status().message();
}

TEST(OwnName, ChangesNothing) {
  EXPECT_EQ(As("gearstalkd", {"--sync", "never"}).arguments, (Texts{"--sync", "never"}));
  EXPECT_EQ(As("/opt/beanstalkd/gearstalkd", {"-x"}).arguments, Texts{"-x"});
}

TEST(Beanstalkd, ListensWhereBeanstalkdDoes) {
  const Config config = ConfigAs("/usr/bin/beanstalkd", {});
  EXPECT_EQ(config.listen, Texts{"0.0.0.0:11300"});
  EXPECT_EQ(config.data_dir, "");
  EXPECT_EQ(config.sync_interval, 50 * kMillisecond);
}

TEST(Beanstalkd, TakesItsOptions) {
  const Config config = ConfigAs("beanstalkd", {"-l", "127.0.0.1", "-p11301", "-b", "/jobs", "-f",
                                                "0", "-u", "bean", "-z", "1000", "-VV"});
  EXPECT_EQ(config.listen, Texts{"127.0.0.1:11301"});
  EXPECT_EQ(config.data_dir, "/jobs");
  EXPECT_EQ(config.sync, Sync::kAlways);
  EXPECT_EQ(config.user, "bean");
  EXPECT_EQ(config.max_job_size, 1000U);
  EXPECT_EQ(config.log_level, "debug");
}

TEST(Beanstalkd, TakesTheMostForALargerJob) {
  EXPECT_EQ(ConfigAs("beanstalkd", {"-z", "9999999999"}).max_job_size, 1073741824U);
  EXPECT_EQ(As("beanstalkd", {"-z", "9999999999"}).warnings,
            Texts{"-z: '9999999999': the most is 1073741824, which is taken"});
}

TEST(Beanstalkd, SyncsAsAsked) {
  EXPECT_EQ(ConfigAs("beanstalkd", {"-F"}).sync, Sync::kSystem);
  EXPECT_EQ(ConfigAs("beanstalkd", {"-f", "200"}).sync_interval, 200 * kMillisecond);
  EXPECT_EQ(ConfigAs("beanstalkd", {"-f99999999"}).sync_interval, 3600 * kSecond);
}

TEST(Beanstalkd, ListensOnWhateverAddressIsGiven) {
  EXPECT_EQ(ConfigAs("beanstalkd", {"-l", "::1"}).listen, Texts{"[::1]:11300"});
  EXPECT_EQ(ConfigAs("beanstalkd", {"-l", "unix:/run/b", "-p", "1"}).listen, Texts{"unix:/run/b"});
}

TEST(Beanstalkd, WarnsOfWhatHasNoCounterpart) {
  const Translation translation = As("beanstalkd", {"-s", "1000", "-cn"});
  EXPECT_EQ(translation.warnings, (Texts{"'-s' has no counterpart in gearstalkd and no effect",
                                         "'-c' has no counterpart in gearstalkd and no effect",
                                         "'-n' has no counterpart in gearstalkd and no effect"}));
  EXPECT_TRUE(As("beanstalkd", {"-p", "1"}).warnings.empty());
}

TEST(Beanstalkd, SaysWhoItIs) {
  EXPECT_EQ(As("beanstalkd", {"-v"}).arguments, Texts{"--version"});
  const std::string help = As("beanstalkd", {"-h"}).help;
  for (const char* option : {"-b", "-f", "-F", "-l", "-p", "-u", "-z", "-s", "-V"}) {
    EXPECT_NE(help.find(option), std::string::npos) << option;
  }
}

TEST(Beanstalkd, RefusesWhatBeanstalkdRefuses) {
  EXPECT_EQ(ComplaintAs("beanstalkd", {"-q"}), "unknown option '-q'");
  EXPECT_EQ(ComplaintAs("beanstalkd", {"--listen", "x"}), "unknown option '--listen'");
  EXPECT_EQ(ComplaintAs("beanstalkd", {"-p"}), "option '-p' needs a value");
  EXPECT_EQ(ComplaintAs("beanstalkd", {"word"}), "unexpected argument 'word'");
  EXPECT_EQ(ComplaintAs("beanstalkd", {"-f", "soon"}), "-f: 'soon': expected a number");
}

TEST(Gearmand, ListensWhereGearmandDoes) {
  const Config config = ConfigAs("gearmand", {});
  ASSERT_FALSE(config.listen.empty());
  EXPECT_EQ(config.listen[0], "0.0.0.0:4730");
  EXPECT_EQ(config.listen.size(), access("/proc/net/if_inet6", F_OK) == 0 ? 2U : 1U);
  EXPECT_TRUE(config.gearman.wake_all);
  EXPECT_EQ(config.log_level, "error");
}

TEST(Gearmand, TakesItsOptions) {
  const Config config = ConfigAs("gearmand", {"-L",
                                              "127.0.0.1",
                                              "-p",
                                              "4731",
                                              "-d",
                                              "-u",
                                              "gear",
                                              "-P",
                                              "/run/g.pid",
                                              "-l",
                                              "/var/log/g.log",
                                              "--verbose",
                                              "INFO",
                                              "-j3",
                                              "-w",
                                              "1",
                                              "--exceptions",
                                              "--job-handle-prefix",
                                              "H:here",
                                              "-f",
                                              "1000"});
  EXPECT_EQ(config.listen, Texts{"127.0.0.1:4731"});
  EXPECT_TRUE(config.daemon);
  EXPECT_EQ(config.user, "gear");
  EXPECT_EQ(config.pid_file, "/run/g.pid");
  EXPECT_EQ(config.log_to, "file:/var/log/g.log");
  EXPECT_EQ(config.log_level, "info");
  EXPECT_EQ(config.gearman.job_retries, 3U);
  EXPECT_FALSE(config.gearman.wake_all);
  EXPECT_TRUE(config.gearman.exceptions);
  EXPECT_EQ(config.server_name, "here");
  EXPECT_EQ(config.limits.connections, 1000U);
}

TEST(Gearmand, TakesLongOptions) {
  const Config config =
      ConfigAs("gearmand", {"--listen=127.0.0.1", "--port=4731", "--job-retries", "2", "--daemon",
                            "--worker-wakeup=0", "--log-f", "stderr", "--syslog"});
  EXPECT_EQ(config.listen, Texts{"127.0.0.1:4731"});
  EXPECT_EQ(config.gearman.job_retries, 2U);
  EXPECT_TRUE(config.daemon);
  EXPECT_TRUE(config.gearman.wake_all);
  EXPECT_EQ(config.log_to, "syslog");
}

TEST(Gearmand, LogsAsAsked) {
  EXPECT_EQ(ConfigAs("gearmand", {"-l", "none"}).log_level, "off");
  EXPECT_EQ(ConfigAs("gearmand", {"-l", "stderr"}).log_to, "stderr");
  const std::pair<const char*, const char*> levels[] = {
      {"FATAL", "critical"}, {"ALERT", "critical"}, {"CRITICAL", "critical"}, {"ERROR", "error"},
      {"WARNING", "warn"},   {"NOTICE", "info"},    {"INFO", "info"},         {"DEBUG", "debug"}};
  for (const auto& [theirs, ours] : levels) {
    EXPECT_EQ(ConfigAs("gearmand", {"--verbose", theirs}).log_level, ours);
  }
}

TEST(Gearmand, ServesTls) {
  const Config config = ConfigAs("gearmand", {"-L", "127.0.0.1", "--ssl", "--ssl-ca-file", "/ca",
                                              "--ssl-certificate", "/cert", "--ssl-key", "/key"});
  EXPECT_EQ(config.listen, Texts{"127.0.0.1:4730,tls=required"});
  EXPECT_EQ(config.tls.client_ca, "/ca");
  EXPECT_EQ(config.tls.certificate, "/cert");
  EXPECT_EQ(config.tls.key, "/key");
  EXPECT_EQ(config.tls.client_certificates, TlsFiles::ClientCertificates::kOff);
}

TEST(Gearmand, TakesFilesForTlsFromItsVariables) {
  const Variable certificate("GEARMAND_SERVER_PEM", "/cert");
  const Variable key("GEARMAND_SERVER_KEY", "/key");
  const Variable authorities("GEARMAND_CA_CERTIFICATE", "/ca");
  const Config config = ConfigAs("gearmand", {"--ssl", "--ssl-key", "/other"});
  EXPECT_EQ(config.tls.certificate, "/cert");
  EXPECT_EQ(config.tls.key, "/other");
  EXPECT_EQ(config.tls.client_ca, "/ca");
  EXPECT_EQ(ConfigAs("gearmand", {}).tls.certificate, "");
}

TEST(Gearmand, TakesThePortOfItsVariable) {
  const Variable port("GEARMAND_PORT", "4799");
  EXPECT_EQ(ConfigAs("gearmand", {"-L", "127.0.0.1"}).listen, Texts{"127.0.0.1:4799"});
  EXPECT_EQ(ConfigAs("gearmand", {"-L", "127.0.0.1", "-p1"}).listen, Texts{"127.0.0.1:1"});
}

TEST(Gearmand, ReadsItsFile) {
  const ConfigFile file("--port=4799 --job-retries 5\n--exceptions\n");
  const Config config =
      ConfigAs("gearmand", {"--config-file", file.path(), "-L", "127.0.0.1", "-j", "1"});
  EXPECT_EQ(config.listen, Texts{"127.0.0.1:4799"});
  EXPECT_EQ(config.gearman.job_retries, 1U);
  EXPECT_TRUE(config.gearman.exceptions);
  EXPECT_EQ(ConfigAs("gearmand", {"--config-file", "@" + file.path()}).gearman.job_retries, 5U);
  EXPECT_EQ(ComplaintAs("gearmand", {"--config-file", "/no/such"}),
            "--config-file: cannot read '/no/such'");
}

TEST(Gearmand, WarnsOfWhatHasNoCounterpart) {
  EXPECT_EQ(As("gearmand", {"-t", "8", "--keepalive", "-b", "64"}).warnings,
            (Texts{"'--backlog' has no counterpart in gearstalkd and no effect",
                   "'--keepalive' has no counterpart in gearstalkd and no effect"}));
  EXPECT_EQ(ConfigAs("gearmand", {"-t", "4"}).routers, 4U);
  EXPECT_EQ(ConfigAs("gearmand", {"--threads=1"}).routers, 0U);
  EXPECT_EQ(ConfigAs("gearmand", {"-t", "1000"}).routers, Config::kMostRouters);
  EXPECT_TRUE(ConfigAs("gearmand", {"--round-robin"}).fair);
  EXPECT_TRUE(As("gearmand", {"-q", "builtin"}).warnings.empty());
  EXPECT_EQ(As("gearmand", {"--job-handle-prefix", "X"}).warnings,
            Texts{"'--job-handle-prefix': 'X' has no effect: handles begin with 'H:'"});
}

TEST(Gearmand, RefusesAStoreThatItCannotRead) {
  const std::string unread =
      "--queue-type: 'libsqlite3': gearstalkd does not read or write this store; the jobs in it "
      "stay there and do not run";
  EXPECT_EQ(ComplaintAs("gearmand", {"-q", "libsqlite3", "--libsqlite3-db", "/jobs.db"}),
            unread +
                ". Let gearmand finish them, then leave the option out and set "
                "GEARSTALKD_DATA_DIR=DIR for a journal");
  const Variable directory("GEARSTALKD_DATA_DIR", "/jobs");
  EXPECT_EQ(As("gearmand", {"-q", "libsqlite3"}).warnings,
            Texts{unread + "; new jobs go to the journal in GEARSTALKD_DATA_DIR"});
}

TEST(Gearmand, TakesItsUsualFilesForTls) {
  const Config config = ConfigAs("gearmand", {"--ssl"});
  EXPECT_EQ(config.tls.certificate, "/etc/ssl/certs/gearmand.pem");
  EXPECT_EQ(config.tls.key, "/etc/ssl/certs/gearmand.key");
  EXPECT_EQ(config.tls.client_ca, "/etc/ssl/certs/gearmand-ca.pem");
}

TEST(Foreign, TellsClientsTheVersionThatIsFollowed) {
  for (const char* program : {"beanstalkd", "gearmand"}) {
    EXPECT_EQ(ConfigAs(program, {}).beanstalk.version, "1.13");
    EXPECT_EQ(ConfigAs(program, {}).gearman.version, "1.1.20");
  }
  EXPECT_EQ(Good({}).gearman.version, "");
  EXPECT_EQ(Complaint({"--gearman-version", "1 2"}),
            "--gearman-version: '1 2': expected 1 to 40 printable ASCII characters without spaces, "
            "quotes and backslashes");
}

TEST(Foreign, ErrorsNameTheOptionThatWasGiven) {
  const auto complaint = [](const char* program, Texts arguments) {
    const Translation asked = As(program, std::move(arguments));
    std::vector<const char*> argv = {program};
    for (const std::string& argument : asked.arguments) argv.push_back(argument.c_str());
    const Result<CommandLine> line =
        ReadCommandLine(static_cast<int>(argv.size()), argv.data(), {}, asked.names);
    return line.ok() ? line.value().settings.errors.at(0) : line.status().message();
  };
  EXPECT_EQ(complaint("beanstalkd", {"-z", "1G"}),
            "-z: '1G': expected a number from 1 to 1073741824");
  EXPECT_EQ(complaint("gearmand", {"-j", "many"}),
            "--job-retries: 'many': expected a number from 0 to 4294967295");
}

TEST(Foreign, WrongUsageOfGearmandExitsAsThere) {
  EXPECT_EQ(BadUsageExitOf("/usr/sbin/gearmand"), 1);
  EXPECT_EQ(BadUsageExitOf("beanstalkd"), 2);
  EXPECT_EQ(BadUsageExitOf("gearstalkd"), 2);
}

TEST(Gearmand, RefusesWhatGearmandRefuses) {
  EXPECT_EQ(ComplaintAs("gearmand", {"--no-such"}), "unknown option '--no-such'");
  EXPECT_EQ(ComplaintAs("gearmand", {"-x"}), "unknown option '-x'");
  EXPECT_EQ(ComplaintAs("gearmand", {"--port"}), "option '--port' needs a value");
  EXPECT_EQ(ComplaintAs("gearmand", {"--daemon=yes"}), "option '--daemon' takes no value");
  EXPECT_EQ(ComplaintAs("gearmand", {"--keepalive-i", "5"}), "option '--keepalive-i' is ambiguous");
  EXPECT_EQ(ComplaintAs("gearmand", {"-w", "all"}), "--worker-wakeup: 'all': expected a number");
  EXPECT_EQ(ComplaintAs("gearmand", {"--verbose", "LOUD"}),
            "--verbose: 'LOUD': expected FATAL, ALERT, CRITICAL, ERROR, WARNING, NOTICE, INFO or "
            "DEBUG");
}

TEST(Gearmand, SaysWhoItIs) {
  EXPECT_EQ(As("gearmand", {"-V"}).arguments, Texts{"--version"});
  EXPECT_NE(As("gearmand", {"--help"}).help.find("--job-retries"), std::string::npos);
}

}  // namespace
}  // namespace gearstalk
