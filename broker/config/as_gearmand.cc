// The options of gearmand 1.1.20.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "broker/base/status.h"
#include "broker/config/foreign.h"

namespace gearstalk {
namespace {

constexpr std::array kGearmandOptions = {
    ForeignOption{'L', "listen", true, "listen"},
    ForeignOption{'p', "port", true, "listen"},
    ForeignOption{'d', "daemon", false, "daemon"},
    ForeignOption{'u', "user", true, "user"},
    ForeignOption{'P', "pid-file", true, "pid_file"},
    ForeignOption{'l', "log-file", true, "log_to"},
    ForeignOption{'\0', "syslog", false, "log_to"},
    ForeignOption{'\0', "verbose", true, "log_level"},
    ForeignOption{'j', "job-retries", true, "gearman.job_retries"},
    ForeignOption{'w', "worker-wakeup", true, "gearman.worker_wakeup"},
    ForeignOption{'\0', "exceptions", false, "gearman.exceptions"},
    ForeignOption{'\0', "job-handle-prefix", true, "server_name"},
    ForeignOption{'f', "file-descriptors", true, "limits.connections"},
    ForeignOption{'\0', "ssl", false, "tls"},
    ForeignOption{'\0', "ssl-ca-file", true, "tls.client_ca"},
    ForeignOption{'\0', "ssl-certificate", true, "tls.certificate"},
    ForeignOption{'\0', "ssl-key", true, "tls.key"},
    ForeignOption{'\0', "config-file", true, "a file of these options"},
    ForeignOption{'\0', "check-args", false, "--check-config"},
    ForeignOption{'V', "version", false, "the version"},
    ForeignOption{'h', "help", false, "this text"},
    ForeignOption{'b', "backlog", true, ""},
    ForeignOption{'t', "threads", true, "routers"},
    ForeignOption{'R', "round-robin", false, "tube_order"},
    ForeignOption{'r', "protocol", true, ""},
    ForeignOption{'q', "queue-type", true, "builtin only, others are refused"},
    ForeignOption{'\0', "hashtable-buckets", true, ""},
    ForeignOption{'\0', "keepalive", false, ""},
    ForeignOption{'\0', "keepalive-idle", true, ""},
    ForeignOption{'\0', "keepalive-interval", true, ""},
    ForeignOption{'\0', "keepalive-count", true, ""},
    ForeignOption{'\0', "coredump", false, ""},
    ForeignOption{'\0', "http-port", true, ""},
    ForeignOption{'\0', "libmemcached-servers", true, ""},
    ForeignOption{'\0', "libmemcached-prefix", true, ""},
    ForeignOption{'\0', "libsqlite3-db", true, ""},
    ForeignOption{'\0', "libsqlite3-table", true, ""},
    ForeignOption{'\0', "store-queue-on-shutdown", false, ""},
    ForeignOption{'\0', "libpq-conninfo", true, ""},
    ForeignOption{'\0', "libpq-table", true, ""},
    ForeignOption{'\0', "redis-server", true, ""},
    ForeignOption{'\0', "redis-port", true, ""},
    ForeignOption{'\0', "redis-password", true, ""},
    ForeignOption{'\0', "redis-prefix", true, ""},
    ForeignOption{'\0', "mysql-host", true, ""},
    ForeignOption{'\0', "mysql-port", true, ""},
    ForeignOption{'\0', "mysql-user", true, ""},
    ForeignOption{'\0', "mysql-password", true, ""},
    ForeignOption{'\0', "mysql-db", true, ""},
    ForeignOption{'\0', "mysql-table", true, ""},
};

constexpr const char* kDefaultFile = "/etc/gearmand.conf";

void AddListen(Translator& translator) {
  const char* usual = std::getenv("GEARMAND_PORT");
  const std::string port = translator.Value("--port", usual == nullptr ? "4730" : usual);
  const char* tls = translator.Has("--ssl") ? ",tls=required" : "";
  const bool given = translator.Has("--listen");
  std::vector<std::string> hosts = {translator.Value("--listen", "0.0.0.0")};
  if (!given && access("/proc/net/if_inet6", F_OK) == 0) hosts.emplace_back("::");
  for (const std::string& host : hosts) {
    translator.Add("--listen", AddressText(host, port) + tls, given ? "--listen" : "--port");
  }
}

Status AddLog(Translator& translator) {
  static const std::map<std::string, const char*> levels = {
      {"FATAL", "critical"}, {"ALERT", "critical"}, {"CRITICAL", "critical"}, {"ERROR", "error"},
      {"WARNING", "warn"},   {"NOTICE", "info"},    {"INFO", "info"},         {"DEBUG", "debug"}};
  const std::string verbose = translator.Value("--verbose", "ERROR");
  const auto level = levels.find(verbose);
  if (level == levels.end()) {
    return {Code::kInvalid, fmt::format("--verbose: '{}': expected FATAL, ALERT, CRITICAL, ERROR, "
                                        "WARNING, NOTICE, INFO or DEBUG",
                                        verbose)};
  }
  const std::string file = translator.Value("--log-file", "stderr");
  const bool syslog = translator.Has("--syslog");
  translator.Add("--log-level", file == "none" && !syslog ? "off" : level->second, "--verbose");
  if (syslog) {
    translator.Add("--log-to", "syslog", "--syslog");
  } else if (file != "stderr" && file != "none") {
    translator.Add("--log-to", fmt::format("file:{}", std::filesystem::absolute(file).string()),
                   "--log-file");
  }
  return {};
}

// The option, else the variable, else the path that Debian's gearmand takes.
void AddTlsFile(Translator& translator, std::string_view name, const char* variable,
                const char* usual, const char* flag) {
  const char* set = std::getenv(variable);
  const std::string_view given_by = translator.Has(name) ? name
                                    : set != nullptr     ? variable
                                                         : "--ssl";
  translator.Add(flag, translator.Value(name, set != nullptr ? set : usual), given_by);
}

void AddTls(Translator& translator) {
  if (!translator.Has("--ssl")) return;
  AddTlsFile(translator, "--ssl-certificate", "GEARMAND_SERVER_PEM", "/etc/ssl/certs/gearmand.pem",
             "--tls-certificate");
  AddTlsFile(translator, "--ssl-key", "GEARMAND_SERVER_KEY", "/etc/ssl/certs/gearmand.key",
             "--tls-key");
  AddTlsFile(translator, "--ssl-ca-file", "GEARMAND_CA_CERTIFICATE",
             "/etc/ssl/certs/gearmand-ca.pem", "--tls-client-ca");
}

void AddServerName(Translator& translator) {
  if (!translator.Has("--job-handle-prefix")) return;
  const std::string prefix = translator.Value("--job-handle-prefix", "");
  if (prefix.starts_with("H:")) {
    return translator.Add("--server-name", prefix.substr(2), "--job-handle-prefix");
  }
  translator.Warn(
      fmt::format("'--job-handle-prefix': '{}' has no effect: handles begin with 'H:'", prefix));
}

// Jobs in a store of gearmand's would silently never run.
Status CheckQueue(Translator& translator) {
  const std::string queue = translator.Value("--queue-type", "builtin");
  if (queue == "builtin") return {};
  const std::string unread = fmt::format(
      "--queue-type: '{}': gearstalkd does not read or write this store; the jobs in it stay "
      "there and do not run",
      queue);
  if (std::getenv("GEARSTALKD_DATA_DIR") != nullptr) {
    translator.Warn(unread + "; new jobs go to the journal in GEARSTALKD_DATA_DIR");
    return {};
  }
  return {Code::kInvalid, unread +
                              ". Let gearmand finish them, then leave the option out and set "
                              "GEARSTALKD_DATA_DIR=DIR for a journal"};
}

// Options of the command line, which are read before, outweigh those of the file.
Status ReadFile(std::string name, Translator& translator) {
  // "@NAME" means NAME.
  if (name.starts_with('@') && access(name.c_str(), F_OK) != 0) name.erase(0, 1);
  std::ifstream file(name);
  if (!file) return {Code::kInvalid, fmt::format("--config-file: cannot read '{}'", name)};
  std::vector<std::string> words;
  for (std::string word; file >> word;) words.push_back(word);
  const Status status = translator.Read(words);
  return status.ok() ? Status()
                     : Status(Code::kInvalid, fmt::format("{}: {}", name, status.message()));
}

}  // namespace

Result<Translation> TranslateGearmand(std::span<const std::string> arguments) {
  Translator translator("gearmand", kGearmandOptions);
  GS_TRY(translator.Read(arguments));
  if (translator.Has("--config-file") || access(kDefaultFile, R_OK) == 0) {
    GS_TRY(ReadFile(translator.Value("--config-file", kDefaultFile), translator));
  }
  if (translator.AsksOnly("--help", "--version")) return translator.Take();
  AddListen(translator);
  GS_TRY(AddLog(translator));
  AddTls(translator);
  const std::uint64_t workers = GS_TRY(translator.Number("--worker-wakeup", 0));
  translator.Add("--gearman-worker-wakeup", workers == 1 ? "one" : "all", "--worker-wakeup");
  translator.Pass("--job-retries", "--gearman-job-retries");
  translator.Pass("--user", "--user");
  translator.Pass("--pid-file", "--pid-file");
  translator.Pass("--file-descriptors", "--limits-connections");
  if (translator.Has("--daemon")) translator.Add("--daemon", "true", "--daemon");
  if (translator.Has("--round-robin")) translator.Add("--tube-order", "fair", "--round-robin");
  if (translator.Has("--exceptions")) {
    translator.Add("--gearman-exceptions", "true", "--exceptions");
  }
  if (translator.Has("--check-args")) translator.Ask("--check-config");
  // One thread for all clients is what the broker has anyway.
  const std::uint64_t threads = GS_TRY(translator.Number("--threads", 0));
  const std::uint64_t routers = std::min<std::uint64_t>(threads, Config::kMostRouters);
  if (threads > 1) translator.Add("--routers", fmt::format("{}", routers), "--threads");
  AddServerName(translator);
  translator.Finish();
  GS_TRY(CheckQueue(translator));
  return translator.Take();
}

}  // namespace gearstalk
