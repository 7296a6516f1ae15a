#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "broker/base/split.h"
#include "broker/base/status.h"
#include "broker/config/kinds.h"
#include "broker/config/option.h"
#include "broker/config/option_tables.h"

namespace gearstalk {
namespace {

using kinds::Checked;
using kinds::Choice;
using kinds::Expected;
using kinds::kAny32;
using kinds::kAnySize;
using kinds::List;
using kinds::Number;
using kinds::ParseNumber;
using kinds::Seconds;
using kinds::Text;
using kinds::Truth;

constexpr std::uint64_t kLongest = 10 * 365 * 86400ULL;

Status SetSync(Config& config, std::string_view text) {
  if (text == "always" || text == "never") {
    config.sync = text == "always" ? Config::Sync::kAlways : Config::Sync::kSystem;
    return {};
  }
  std::uint64_t ms = 0;
  if (!text.ends_with("ms") || !ParseNumber(text.substr(0, text.size() - 2), ms) || ms < 1 ||
      ms > 3'600'000) {
    return Expected("always, never, or an interval from 1ms to 3600000ms");
  }
  config.sync = Config::Sync::kInterval;
  config.sync_interval = static_cast<Time>(ms) * kMillisecond;
  return {};
}

std::vector<std::string> GetSync(const Config& config) {
  if (config.sync == Config::Sync::kAlways) return {"always"};
  if (config.sync == Config::Sync::kSystem) return {"never"};
  return {fmt::format("{}ms", config.sync_interval / kMillisecond)};
}

Status SetServerName(Config& config, std::string_view name) {
  // A handle is at most 63 bytes: "H:", the name, ":" and up to 20 digits.
  const bool clean = name.find_first_of(std::string_view(" \t\r\n\0", 5)) == std::string::npos &&
                     name.find("//") == std::string::npos;
  if (name.empty() || name.size() > 40 || !clean) {
    return Expected("1 to 40 bytes without spaces and without '//'");
  }
  config.server_name = name;
  return {};
}

// A word that every parser of replies takes literally.
template <typename Field>
auto SetVersion(Field field) {
  return [=](Config& config, std::string_view text) -> Status {
    const bool clean = std::all_of(text.begin(), text.end(), [](char c) {
      return c > ' ' && c < 0x7F && c != '"' && c != '\\';
    });
    if (text.empty() || text.size() > 40 || !clean) {
      return Expected("1 to 40 printable ASCII characters without spaces, quotes and backslashes");
    }
    field(config) = text;
    return {};
  };
}

Status SetLogTo(Config& config, std::string_view text) {
  const bool file = text.starts_with("file:/") && text.size() > 6;
  if (!file && text != "stderr" && text != "journald" && text != "syslog") {
    return Expected("stderr, journald, syslog or file:/PATH");
  }
  config.log_to = text;
  return {};
}

Status SetTimeZone(Config& config, std::string_view name) {
  GS_TRY(FindTimeZone(name));
  config.time_zone = name;
  return {};
}

// "TUBE N" or "TUBE HIGH NORMAL LOW".
Status AddMaxQueue(Config& config, std::string_view text) {
  const std::vector<std::string_view> words = SplitWords(text);
  Config::MaxQueue limit{};
  bool good = words.size() == 2 || words.size() == 4;
  for (std::size_t i = 0; good && i < limit.jobs.size(); ++i) {
    std::uint64_t number = 0;
    good = ParseNumber(words[words.size() == 2 ? 1 : i + 1], number) && number <= kAny32;
    limit.jobs[i] = static_cast<std::int64_t>(number);
  }
  if (!good) return Expected("'TUBE N' or 'TUBE HIGH NORMAL LOW'");
  limit.tube = words[0];
  config.limits.maxqueue.push_back(std::move(limit));
  return {};
}

std::vector<std::string> GetMaxQueue(const Config& config) {
  std::vector<std::string> texts;
  for (const Config::MaxQueue& limit : config.limits.maxqueue) {
    texts.push_back(fmt::format("{} {}", limit.tube, fmt::join(limit.jobs, " ")));
  }
  return texts;
}

#define FIELD(path) ([](auto& config) -> auto& { return config.path; })

Kind Sync() {
  return {.shape = "always|never|<N>ms",
          .unit = "",
          .range = "1ms to 3600000ms",
          .set = SetSync,
          .get = GetSync,
          .copy =
              [](const Config& from, Config& to) {
                to.sync = from.sync;
                to.sync_interval = from.sync_interval;
              },
          .clear = nullptr};
}

template <typename Field>
Kind Version(Field field) {
  return Checked(Text(field, "VERSION"), SetVersion(field));
}

template <typename Field>
Kind BytesBySize(Field field) {
  Kind kind = Number(field, "bytes", 0, kAnySize);
  kind.get = [field, number = kind.get](const Config& config) {
    const bool unset = field(config) == Config::Limits::kBySize;
    return unset ? std::vector<std::string>() : number(config);
  };
  return kind;
}

Kind MaxQueue() {
  return {.shape = "TUBE N | TUBE HIGH NORMAL LOW",
          .unit = "jobs",
          .range = fmt::format("0 to {}", kAny32),
          .set = AddMaxQueue,
          .get = GetMaxQueue,
          .copy = kinds::Copy(FIELD(limits.maxqueue)),
          .clear = [](Config& config) { config.limits.maxqueue.clear(); },
          .separator = ';'};
}

template <typename Field>
Kind Level(Field field) {
  return Choice<Field, std::string>(field, {{"trace", "trace"},
                                            {"debug", "debug"},
                                            {"info", "info"},
                                            {"warn", "warn"},
                                            {"error", "error"},
                                            {"critical", "critical"},
                                            {"off", "off"}});
}

template <typename Field>
Kind WakeUp(Field field) {
  return Choice<Field, bool>(field, {{"all", true}, {"one", false}});
}

template <typename Field>
Kind TubeOrder(Field field) {
  return Choice<Field, bool>(field, {{"job", false}, {"fair", true}});
}

template <typename Field>
Kind Format(Field field) {
  using enum Config::LogFormat;
  return Choice<Field, Config::LogFormat>(field, {{"text", kText}, {"json", kJson}});
}

template <typename Field>
Kind Certificates(Field field) {
  using enum Config::ClientCertificates;
  return Choice<Field, Config::ClientCertificates>(
      field, {{"off", kOff}, {"optional", kOptional}, {"required", kRequired}});
}

template <typename Field>
Kind Import(Field field) {
  using enum Config::ImportBinlog;
  return Choice<Field, Config::ImportBinlog>(field,
                                             {{"yes", kYes}, {"no", kNo}, {"refuse", kRefuse}});
}

template <typename Field>
Kind From(Field field) {
  using enum Config::ShutdownFrom;
  return Choice<Field, Config::ShutdownFrom>(
      field, {{"loopback", kLoopback}, {"anywhere", kAnywhere}, {"nowhere", kNowhere}});
}

// A number, or "auto".
Kind Routers() {
  const auto number = Number(FIELD(routers), "", 0, Config::kMostRouters);
  return {.shape = "N|auto",
          .unit = "",
          .range = number.range,
          .set = [number](Config& config, std::string_view text) -> Status {
            if (text == "auto") {
              config.routers = Config::kAutoRouters;
              return {};
            }
            return number.set(config, text).ok()
                       ? Status()
                       : Expected(fmt::format("auto, or a number from {}", number.range));
          },
          .get = [number](const Config& config) -> std::vector<std::string> {
            return config.routers == Config::kAutoRouters ? std::vector<std::string>{"auto"}
                                                          : number.get(config);
          },
          .copy = kinds::Copy(FIELD(routers)),
          .clear = nullptr};
}

std::vector<Option> Service() {
  return {
      {"listen", Apply::kRestart, List(FIELD(listen), "ADDRESS", ' '),
       "Address to listen on: ADDR:PORT[,protocols=auto|beanstalk|gearman]"
       "[,tls=allowed|required|off], or unix:/PATH[,owner=USER][,group=GROUP][,mode=0660]; port 0 "
       "takes a free one. May be repeated."},
      {"routers", Apply::kRestart, Routers(),
       "Processes that accept, do TLS, read and write for the clients of `listen`, so that several "
       "CPUs carry one broker; 0: the broker does it itself; auto: the CPUs that it may use less "
       "one, 0 below three, at most 8."},
      {"admin", Apply::kRestart, List(FIELD(admin), "ADDRESS", ' '),
       "Address of /metrics, /healthz, /readyz, of the API and of the console over HTTP: "
       "ADDR:PORT, "
       "a port alone is on loopback; or unix:/PATH[,owner=USER][,group=GROUP][,mode=0660]. May be "
       "repeated.",
       "no such address", "127.0.0.1:11380"},
      {"data_dir", Apply::kRestart, Text(FIELD(data_dir), "DIR"), "Directory of the journal.",
       "jobs live in memory and end with the process", "/var/lib/gearstalkd"},
      {"import_binlog", Apply::kRestart, Import(FIELD(import_binlog)),
       "What to do with the log of a beanstalkd in data_dir: import it before serving, leave it "
       "alone, "
       "or refuse to start."},
      {"sync", Apply::kRestart, Sync(),
       "When a change is on disk: before it is acknowledged (always), when the system writes it "
       "(never), or at latest N milliseconds after it."},
      {"journal.verify", Apply::kLimits, Number(FIELD(journal_verify), "bytes", 0, 1U << 30),
       "Bytes a second at which the journal is read again in the background, after a start and "
       "every week, to find damage; 0: never."},
      {"max_job_size", Apply::kJobSize, Number(FIELD(max_job_size), "bytes", 1, 1U << 30),
       "Largest job body.", "65535 for beanstalk, 64 MiB for Gearman", "1048576"},
      {"server_name", Apply::kRestart, Checked(Text(FIELD(server_name), "NAME"), SetServerName),
       "Name in Gearman job handles.", "the host's name; with etcd.endpoints: gearstalkd",
       "broker-1"},
  };
}

std::vector<Option> Logging() {
  return {
      {"log_level", Apply::kLog, Level(FIELD(log_level)), "Minimum level to log."},
      {"log_format", Apply::kLog, Format(FIELD(log_format)),
       "Lines for people, or one JSON object a line."},
      {"log_to", Apply::kLog,
       Checked(Text(FIELD(log_to), "stderr|journald|syslog|file:/PATH"), SetLogTo),
       "Where log lines go; a file is opened anew at SIGHUP."},
  };
}

std::vector<Option> Limits() {
  return {
      {"limits.connections", Apply::kLimits,
       Number(FIELD(limits.connections), "connections", 0, kAny32),
       "Most connections at a time; 0: as many as the descriptors of the process allow."},
      {"limits.connections_per_address", Apply::kLimits,
       Number(FIELD(limits.connections_per_address), "connections", 0, kAny32),
       "Most connections at a time from one address; 0: no limit."},
      {"limits.memory", Apply::kLimits, BytesBySize(FIELD(limits.memory)),
       "Memory of jobs, tubes, watches, waiting clients and unsent replies at which puts and "
       "submits "
       "are refused; 0: no limit. A quarter of it is for tubes, watches and waiting clients.",
       "three quarters of the memory of the machine, the control group or the ulimit",
       "1073741824"},
      {"limits.bodies", Apply::kLimits, BytesBySize(FIELD(limits.bodies)),
       "Job bodies in memory, with data_dir or postgres.conninfo: bodies beyond it are read back "
       "from the journal when they are needed. It concerns those of 128 bytes or more. 0: all stay "
       "in memory; 1: none that is stored does.",
       "half of limits.memory", "536870912"},
      {"limits.free_disk", Apply::kLimits, BytesBySize(FIELD(limits.free_disk)),
       "Free space on the disk of data_dir below which new jobs that would be stored are refused; "
       "they are taken again a tenth above it. 0: only a full disk refuses.",
       "a twentieth of the file system, 1 GiB at most", "2147483648"},
      {"limits.tubes", Apply::kLimits, Number(FIELD(limits.tubes), "tubes", 0, kAny32),
       "Most tubes at a time; 0: no limit."},
      {"limits.output", Apply::kLimits, Number(FIELD(limits.output), "bytes", 4096, 1U << 30),
       "Bytes that wait for a client that does not read, at which its commands are no longer run."},
      {"limits.idle_timeout", Apply::kLimits, Seconds(FIELD(limits.idle_timeout), 0, kLongest),
       "Time after which a connection is closed that sent nothing, waits for nothing and holds no "
       "job; 0: never."},
      {"limits.handshake_timeout", Apply::kLimits,
       Seconds(FIELD(limits.handshake_timeout), 1, 3600),
       "Time for a TLS handshake and for a first word."},
      {"limits.maxqueue", Apply::kMaxQueue, MaxQueue(),
       "Most jobs in a tube, in all or for each class of priority; 0: no limit. May be "
       "repeated.",
       "no limits", "thumbnails 10000"},
      {"limits.stop_timeout", Apply::kLimits, Seconds(FIELD(limits.stop_timeout), 0, 3600),
       "Time for sending what is waiting when the broker stops."},
  };
}

std::vector<Option> TlsAndRights() {
  return {
      {"tls.certificate", Apply::kTls, Text(FIELD(tls.certificate), "FILE"),
       "Certificate and its chain (PEM).", "no TLS", "/etc/gearstalkd/tls.pem"},
      {"tls.key", Apply::kTls, Text(FIELD(tls.key), "FILE"), "Key of the certificate (PEM).",
       "the file of the certificate", "/etc/gearstalkd/tls.key"},
      {"tls.client_ca", Apply::kTls, Text(FIELD(tls.client_ca), "FILE"),
       "Authorities that sign the certificates of clients (PEM).", "none",
       "/etc/gearstalkd/clients.pem"},
      {"tls.client_certificates", Apply::kTls, Certificates(FIELD(tls.client_certificates)),
       "Whether clients are asked for a certificate over TLS, and whether they must have one."},

      {"rights", Apply::kRights, List(FIELD(rights), "WHO ALLOWED [TUBES]", ';'),
       "Rules in order, the first that fits decides. WHO: *, listen=ADDR:PORT, listen=unix:/PATH "
       "or "
       "cert=NAME; ALLOWED: all, none, or of produce,consume,admin,observe; TUBES: shell patterns, "
       "separated by commas. May be repeated.",
       "everything is allowed", "cert=worker-* consume,observe"},
      {"shutdown_from", Apply::kShutdownFrom, From(FIELD(shutdown_from)),
       "Who may send `shutdown`: loopback addresses and Unix sockets, anybody, or nobody."},
  };
}

std::vector<Option> Process() {
  return {
      {"metrics_tubes", Apply::kMetrics, Number(FIELD(metrics_tubes), "tubes", 0, 100'000),
       "Tubes named on /metrics, the busiest first; the others are summed."},

      {"user", Apply::kRestart, Text(FIELD(user), "USER"),
       "User to become when all addresses are bound; needs root.", "as it was started",
       "gearstalkd"},
      {"pid_file", Apply::kRestart, Text(FIELD(pid_file), "FILE"),
       "File for the process id, from when the broker is ready until it ends.", "none",
       "/run/gearstalkd/gearstalkd.pid"},
      {"daemon", Apply::kRestart, Truth(FIELD(daemon)), "Go to the background when ready."},
  };
}

std::vector<Option> Protocols() {
  return {
      {"beanstalk.version", Apply::kRestart, Version(FIELD(beanstalk.version)),
       "Version that `stats` reports, for clients that ask for a least version of beanstalkd. "
       "Logs, "
       "metrics and --version keep to the real one.",
       "the version of gearstalkd", "1.13"},
      {"gearman.version", Apply::kRestart, Version(FIELD(gearman.version)),
       "Version that the admin line `version` reports, for monitors that ask for a least version "
       "of "
       "gearmand.",
       "the version of gearstalkd", "1.1.20"},
      {"gearman.default_ttr", Apply::kGearman,
       Number(FIELD(gearman.default_ttr), "seconds", 1, kAny32),
       "Time to run of a Gearman job that a beanstalk consumer reserves."},
      {"gearman.job_retries", Apply::kGearman,
       Number(FIELD(gearman.job_retries), "tries", 0, kAny32),
       "Lost tries after which a job fails; 0 is no limit."},
      {"gearman.idle_functions", Apply::kGearman,
       Number(FIELD(gearman.idle_functions), "functions", 0, kAny32),
       "Functions without workers and jobs that `status` still lists, each for a day; the oldest "
       "go."},
      {"gearman.worker_wakeup", Apply::kGearman, WakeUp(FIELD(gearman.wake_all)),
       "Sleeping workers woken for a new job: the one asleep longest, or all as gearmand does."},
      {"gearman.exceptions", Apply::kGearman, Truth(FIELD(gearman.exceptions)),
       "Send exceptions also to clients that did not ask for them."},
      {"gearman.priority_high", Apply::kRestart,
       Number(FIELD(gearman.priority_high), "priority", 0, kAny32),
       "Priority number of SUBMIT_JOB_HIGH."},
      {"gearman.priority_normal", Apply::kRestart,
       Number(FIELD(gearman.priority_normal), "priority", 0, kAny32),
       "Priority number of SUBMIT_JOB."},
      {"gearman.priority_low", Apply::kRestart,
       Number(FIELD(gearman.priority_low), "priority", 0, kAny32),
       "Priority number of SUBMIT_JOB_LOW."},
  };
}

std::vector<Option> Policies() {
  return {
      {"time_zone", Apply::kPolicies, Checked(Text(FIELD(time_zone), "AREA/CITY"), SetTimeZone),
       "Time zone of schedules that name none, and of SUBMIT_JOB_SCHED."},
      {"tube_order", Apply::kPolicies, TubeOrder(FIELD(fair)),
       "Which job of one priority leaves first: the oldest of all tubes, or tubes take turns by "
       "weight."},
  };
}

#undef FIELD

}  // namespace

std::span<const Option> Options() {
  static const std::vector<Option> options = [] {
    std::vector<Option> all;
    for (auto group : {Service, Logging, Limits, TlsAndRights, Process, OptionsOfEtcd,
                       OptionsOfPostgres, OptionsOfReplica, Protocols, ConsoleOptions, Policies}) {
      for (Option& option : group()) all.push_back(std::move(option));
    }
    return all;
  }();
  return options;
}

}  // namespace gearstalk
