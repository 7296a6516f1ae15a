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

class Translator {
 public:
  explicit Translator(const ForeignValues& given) : given_(given) {}

  Status Run() {
    AddListen();
    GS_TRY(AddLog());
    AddTls();
    GS_TRY(AddWakeup());
    Pass("--job-retries", "--gearman-job-retries");
    Pass("--user", "--user");
    Pass("--pid-file", "--pid-file");
    Pass("--file-descriptors", "--limits-connections");
    if (Has("--daemon")) Add("--daemon", "true", "--daemon");
    if (Has("--round-robin")) Add("--tube-order", "fair", "--round-robin");
    if (Has("--exceptions")) Add("--gearman-exceptions", "true", "--exceptions");
    if (Has("--check-args")) out_.arguments.emplace_back("--check-config");
    GS_TRY(AddRouters());
    AddServerName();
    Add("--beanstalk-version", std::string(kBeanstalkdVersion), "");
    Add("--gearman-version", std::string(kGearmandVersion), "");
    AddWarnings(out_, kGearmandOptions, given_);
    return CheckQueue();
  }

  // Jobs in a store of gearmand's would silently never run.
  Status CheckQueue() {
    const std::string queue = Value("--queue-type", "builtin");
    if (queue == "builtin") return {};
    const std::string unread = fmt::format(
        "--queue-type: '{}': gearstalkd does not read or write this store; the jobs in it stay "
        "there and do not run",
        queue);
    if (std::getenv("GEARSTALKD_DATA_DIR") != nullptr) {
      out_.warnings.push_back(unread + "; new jobs go to the journal in GEARSTALKD_DATA_DIR");
      return {};
    }
    return {Code::kInvalid, unread +
                                ". Let gearmand finish them, then leave the option out and set "
                                "GEARSTALKD_DATA_DIR=DIR for a journal"};
  }

  Translation Take() { return std::move(out_); }

 private:
  bool Has(std::string_view name) const { return given_.contains(name); }

  std::string Value(std::string_view name, const char* otherwise) const {
    return ValueOr(given_, name, otherwise);
  }

  // `name` is gearmand's option that `flag` stands for.
  void Add(std::string flag, std::string value, std::string_view name) {
    AddFlag(out_, std::move(flag), std::move(value), name);
  }

  void Pass(std::string_view name, const char* flag) { PassFlag(out_, given_, name, flag); }

  void AddListen() {
    const char* usual = std::getenv("GEARMAND_PORT");
    const std::string port = Value("--port", usual == nullptr ? "4730" : usual);
    const char* tls = Has("--ssl") ? ",tls=required" : "";
    std::vector<std::string> hosts;
    if (Has("--listen")) {
      hosts.push_back(Value("--listen", ""));
    } else {
      hosts.emplace_back("0.0.0.0");
      if (access("/proc/net/if_inet6", F_OK) == 0) hosts.emplace_back("::");
    }
    for (const std::string& host : hosts) {
      Add("--listen", fmt::format("{}{}", AddressText(host, port), tls),
          Has("--listen") ? "--listen" : "--port");
    }
  }

  Status AddLog() {
    static const std::map<std::string, const char*> levels = {
        {"FATAL", "critical"}, {"ALERT", "critical"}, {"CRITICAL", "critical"}, {"ERROR", "error"},
        {"WARNING", "warn"},   {"NOTICE", "info"},    {"INFO", "info"},         {"DEBUG", "debug"}};
    const std::string verbose = Value("--verbose", "ERROR");
    const auto level = levels.find(verbose);
    if (level == levels.end()) {
      return {Code::kInvalid,
              fmt::format("--verbose: '{}': expected FATAL, ALERT, CRITICAL, ERROR, "
                          "WARNING, NOTICE, INFO or DEBUG",
                          verbose)};
    }
    const std::string file = Value("--log-file", "stderr");
    Add("--log-level", file == "none" && !Has("--syslog") ? "off" : level->second, "--verbose");
    if (Has("--syslog")) {
      Add("--log-to", "syslog", "--syslog");
    } else if (file != "stderr" && file != "none") {
      Add("--log-to", fmt::format("file:{}", std::filesystem::absolute(file).string()),
          "--log-file");
    }
    return {};
  }

  Status AddWakeup() {
    const std::uint64_t workers = GS_TRY(NumberOr(given_, "--worker-wakeup", 0));
    Add("--gearman-worker-wakeup", workers == 1 ? "one" : "all", "--worker-wakeup");
    return {};
  }

  // One thread for all clients is what the broker has anyway.
  Status AddRouters() {
    const std::uint64_t threads = GS_TRY(NumberOr(given_, "--threads", 0));
    const std::uint64_t routers = std::min<std::uint64_t>(threads, Config::kMostRouters);
    if (threads > 1) Add("--routers", fmt::format("{}", routers), "--threads");
    return {};
  }

  void AddTls() {
    if (!Has("--ssl")) return;
    AddTlsFile("--ssl-certificate", "GEARMAND_SERVER_PEM", "/etc/ssl/certs/gearmand.pem",
               "--tls-certificate");
    AddTlsFile("--ssl-key", "GEARMAND_SERVER_KEY", "/etc/ssl/certs/gearmand.key", "--tls-key");
    AddTlsFile("--ssl-ca-file", "GEARMAND_CA_CERTIFICATE", "/etc/ssl/certs/gearmand-ca.pem",
               "--tls-client-ca");
  }

  // The option, else the variable, else the path that Debian's gearmand takes.
  void AddTlsFile(std::string_view name, const char* variable, const char* usual,
                  const char* flag) {
    const char* set = std::getenv(variable);
    const std::string given_by = Has(name)        ? std::string(name)
                                 : set != nullptr ? variable
                                                  : "--ssl";
    Add(flag, Value(name, set != nullptr ? set : usual), given_by);
  }

  void AddServerName() {
    if (!Has("--job-handle-prefix")) return;
    const std::string prefix = Value("--job-handle-prefix", "");
    if (prefix.starts_with("H:")) {
      Add("--server-name", prefix.substr(2), "--job-handle-prefix");
    } else {
      out_.warnings.push_back(fmt::format(
          "'--job-handle-prefix': '{}' has no effect: handles begin with 'H:'", prefix));
    }
  }

  const ForeignValues& given_;
  Translation out_;
};

// Options of the command line outweigh those of the file.
Status ReadFile(std::string name, ForeignValues& given) {
  // "@NAME" means NAME.
  if (name.starts_with('@') && access(name.c_str(), F_OK) != 0) name.erase(0, 1);
  std::ifstream file(name);
  if (!file) return {Code::kInvalid, fmt::format("--config-file: cannot read '{}'", name)};
  std::vector<std::string> words;
  for (std::string word; file >> word;) words.push_back(word);
  ForeignValues of_file;
  if (Status status = ReadForeign(kGearmandOptions, words, of_file); !status.ok()) {
    return {Code::kInvalid, fmt::format("{}: {}", name, status.message())};
  }
  given.merge(of_file);
  return {};
}

}  // namespace

Result<Translation> TranslateGearmand(std::span<const std::string> arguments) {
  ForeignValues given;
  GS_TRY(ReadForeign(kGearmandOptions, arguments, given));
  if (given.contains("--config-file") || access(kDefaultFile, R_OK) == 0) {
    GS_TRY(ReadFile(ValueOr(given, "--config-file", kDefaultFile), given));
  }
  Translation special;
  if (given.contains("--help")) {
    special.help = HelpOf("gearmand", kGearmandOptions);
    return special;
  }
  if (given.contains("--version")) {
    special.arguments = {"--version"};
    return special;
  }
  Translator translator(given);
  GS_TRY(translator.Run());
  return translator.Take();
}

}  // namespace gearstalk
