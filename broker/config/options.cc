#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "broker/base/split.h"
#include "broker/base/status.h"
#include "broker/config/kinds.h"
#include "broker/config/option.h"

namespace gearstalk {
namespace {

using kinds::Checked;
using kinds::Choice;
using kinds::kAnySize;
using kinds::List;
using kinds::Number;
using kinds::Seconds;
using kinds::Text;
using kinds::Truth;

using Certificates = TlsFiles::ClientCertificates;
using From = Config::ShutdownFrom;
using Import = Config::ImportBinlog;
using LogFormat = Config::LogFormat;

constexpr std::uint64_t kLongest = 10 * 365 * 86400ULL;

Status SetSync(Config& config, std::string_view text) {
  if (text == "always" || text == "never") {
    config.sync = text == "always" ? Sync::kAlways : Sync::kSystem;
    return {};
  }
  std::uint64_t ms = 0;
  if (!text.ends_with("ms") || !ParseNumber(text.substr(0, text.size() - 2), ms) || ms < 1 ||
      ms > 3'600'000) {
    return Expected("always, never, or an interval from 1ms to 3600000ms");
  }
  config.sync = Sync::kInterval;
  config.sync_interval = static_cast<Time>(ms) * kMillisecond;
  return {};
}

std::vector<std::string> GetSync(const Config& config) { return {config.SyncText()}; }

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

Status SetBasePath(Config& config, std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  const bool good = path.empty() || (path.starts_with('/') && path.find("//") == path.npos &&
                                     path.find_first_of("?#% ;\"") == path.npos);
  if (!good) return Expected("a path that begins with '/'");
  config.console.base_path = path;
  return {};
}

// "TUBE N" or "TUBE HIGH NORMAL LOW".
Status AddMaxQueue(Config& config, std::string_view text) {
  const std::vector<std::string_view> words = SplitWords(text);
  Config::MaxQueue limit{};
  bool good = words.size() == 2 || words.size() == 4;
  for (std::size_t i = 0; good && i < limit.jobs.size(); ++i) {
    std::uint64_t number = 0;
    good = ParseNumber(words[words.size() == 2 ? 1 : i + 1], number) && number <= UINT32_MAX;
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
          .range = "1ms to 3600000ms",
          .set = SetSync,
          .get = GetSync,
          .copy = [](const Config& from, Config& to) {
            to.sync = from.sync;
            to.sync_interval = from.sync_interval;
          }};
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
          .range = fmt::format("0 to {}", UINT32_MAX),
          .set = AddMaxQueue,
          .get = GetMaxQueue,
          .copy = kinds::Copy(FIELD(limits.maxqueue)),
          .clear = [](Config& config) { config.limits.maxqueue.clear(); },
          .separator = ';'};
}

// A number, or "auto".
Kind Routers() {
  const auto number = Number(FIELD(routers), "", 0, Config::kMostRouters);
  return {.shape = "N|auto",
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
          .copy = kinds::Copy(FIELD(routers))};
}

std::vector<Option> Service() {
  return {
      {"listen", Apply::kRestart, List(FIELD(listen), "ADDRESS", ' '),
       "Address to listen on: "
       "ADDR:PORT[,protocols=auto|beanstalk|gearman][,tls=allowed|required|off], or "
       "unix:/PATH[,owner=USER][,group=GROUP][,mode=0660]; port 0 takes a free one. May be "
       "repeated."},
      {"routers", Apply::kRestart, Routers(),
       "Processes that accept, do TLS, read and write for the clients of `listen`, so that several "
       "CPUs carry one broker; 0: the broker does it itself; auto: the CPUs that it may use less "
       "one, 0 below three, at most 8."},
      {"admin", Apply::kRestart, List(FIELD(admin), "ADDRESS", ' '),
       "Address of /metrics, /healthz, /readyz, of the API and of the console over HTTP: "
       "ADDR:PORT, a port alone is on loopback; or "
       "unix:/PATH[,owner=USER][,group=GROUP][,mode=0660]. May be repeated.",
       "no such address", "127.0.0.1:11380"},
      {"data_dir", Apply::kRestart, Text(FIELD(data_dir), "DIR"), "Directory of the journal.",
       "jobs live in memory and end with the process", "/var/lib/gearstalkd"},
      {"import_binlog", Apply::kRestart,
       Choice(FIELD(import_binlog),
              {{"yes", Import::kYes}, {"no", Import::kNo}, {"refuse", Import::kRefuse}}),
       "What to do with the log of a beanstalkd in data_dir: import it before serving, leave it "
       "alone, or refuse to start."},
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
      {"log_level", Apply::kLog,
       Choice(FIELD(log_level), {{"trace", "trace"},
                                 {"debug", "debug"},
                                 {"info", "info"},
                                 {"warn", "warn"},
                                 {"error", "error"},
                                 {"critical", "critical"},
                                 {"off", "off"}}),
       "Minimum level to log."},
      {"log_format", Apply::kLog,
       Choice(FIELD(log_format), {{"text", LogFormat::kText}, {"json", LogFormat::kJson}}),
       "Lines for people, or one JSON object a line."},
      {"log_to", Apply::kLog,
       Checked(Text(FIELD(log_to), "stderr|journald|syslog|file:/PATH"), SetLogTo),
       "Where log lines go; a file is opened anew at SIGHUP."},
  };
}

std::vector<Option> Limits() {
  return {
      {"limits.connections", Apply::kLimits,
       Number(FIELD(limits.connections), "connections", 0, UINT32_MAX),
       "Most connections at a time; 0: as many as the descriptors of the process allow."},
      {"limits.connections_per_address", Apply::kLimits,
       Number(FIELD(limits.connections_per_address), "connections", 0, UINT32_MAX),
       "Most connections at a time from one address; 0: no limit."},
      {"limits.memory", Apply::kLimits, BytesBySize(FIELD(limits.memory)),
       "Memory of jobs, tubes, watches, waiting clients and unsent replies at which puts and "
       "submits are refused; 0: no limit. A quarter of it is for tubes, watches and waiting "
       "clients.",
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
      {"limits.tubes", Apply::kLimits, Number(FIELD(limits.tubes), "tubes", 0, UINT32_MAX),
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
       "Most jobs in a tube, in all or for each class of priority; 0: no limit. May be repeated.",
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
      {"tls.client_certificates", Apply::kTls,
       Choice(FIELD(tls.client_certificates), {{"off", Certificates::kOff},
                                               {"optional", Certificates::kOptional},
                                               {"required", Certificates::kRequired}}),
       "Whether clients are asked for a certificate over TLS, and whether they must have one."},

      {"rights", Apply::kRights, List(FIELD(rights), "WHO ALLOWED [TUBES]", ';'),
       "Rules in order, the first that fits decides. WHO: *, listen=ADDR:PORT, listen=unix:/PATH "
       "or cert=NAME; ALLOWED: all, none, or of produce,consume,admin,observe; TUBES: shell "
       "patterns, separated by commas. May be repeated.",
       "everything is allowed", "cert=worker-* consume,observe"},
      {"shutdown_from", Apply::kShutdownFrom,
       Choice(FIELD(shutdown_from), {{"loopback", From::kLoopback},
                                     {"anywhere", From::kAnywhere},
                                     {"nowhere", From::kNowhere}}),
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
       "Logs, metrics and --version keep to the real one.",
       "the version of gearstalkd", "1.13"},
      {"gearman.version", Apply::kRestart, Version(FIELD(gearman.version)),
       "Version that the admin line `version` reports, for monitors that ask for a least version "
       "of gearmand.",
       "the version of gearstalkd", "1.1.20"},
      {"gearman.default_ttr", Apply::kGearman,
       Number(FIELD(gearman.default_ttr), "seconds", 1, UINT32_MAX),
       "Time to run of a Gearman job that a beanstalk consumer reserves."},
      {"gearman.job_retries", Apply::kGearman,
       Number(FIELD(gearman.job_retries), "tries", 0, UINT32_MAX),
       "Lost tries after which a job fails; 0 is no limit."},
      {"gearman.idle_functions", Apply::kGearman,
       Number(FIELD(gearman.idle_functions), "functions", 0, UINT32_MAX),
       "Functions without workers and jobs that `status` still lists, each for a day; the oldest "
       "go."},
      {"gearman.worker_wakeup", Apply::kGearman,
       Choice(FIELD(gearman.wake_all), {{"all", true}, {"one", false}}),
       "Sleeping workers woken for a new job: the one asleep longest, or all as gearmand does."},
      {"gearman.exceptions", Apply::kGearman, Truth(FIELD(gearman.exceptions)),
       "Send exceptions also to clients that did not ask for them."},
      {"gearman.priority_high", Apply::kRestart,
       Number(FIELD(gearman.priority_high), "priority", 0, UINT32_MAX),
       "Priority number of SUBMIT_JOB_HIGH."},
      {"gearman.priority_normal", Apply::kRestart,
       Number(FIELD(gearman.priority_normal), "priority", 0, UINT32_MAX),
       "Priority number of SUBMIT_JOB."},
      {"gearman.priority_low", Apply::kRestart,
       Number(FIELD(gearman.priority_low), "priority", 0, UINT32_MAX),
       "Priority number of SUBMIT_JOB_LOW."},
  };
}

std::vector<Option> Policies() {
  return {
      {"time_zone", Apply::kPolicies, Checked(Text(FIELD(time_zone), "AREA/CITY"), SetTimeZone),
       "Time zone of schedules that name none, and of SUBMIT_JOB_SCHED."},
      {"tube_order", Apply::kPolicies, Choice(FIELD(fair), {{"job", false}, {"fair", true}}),
       "Which job of one priority leaves first: the oldest of all tubes, or tubes take turns by "
       "weight."},
  };
}

std::vector<Option> Etcd() {
  return {
      {"etcd.endpoints", Apply::kRestart, List(FIELD(etcd.endpoints), "HOST:PORT", ' '),
       "Node of the etcd cluster that keeps the journal, which several brokers then share; "
       "https://HOST:PORT for TLS. Excludes data_dir. May be repeated.",
       "the journal is not replicated", "10.0.0.1:2379"},
      {"etcd.prefix", Apply::kRestart, Text(FIELD(etcd.prefix), "TEXT"),
       "What all keys of this shard begin with; ends with '/'."},
      {"etcd.user", Apply::kRestart, Text(FIELD(etcd.user), "TEXT"),
       "User of etcd, with the right to read and write the keys below the prefix.",
       "etcd asks for none", "gearstalkd"},
      {"etcd.password_file", Apply::kStore, Text(FIELD(etcd.password_file), "FILE"),
       "File whose first line is the user's password; read again at SIGHUP.", "none",
       "/etc/gearstalkd/etcd-password"},
      {"etcd.ca", Apply::kStore, Text(FIELD(etcd.ca), "FILE"),
       "Authorities that sign the certificates of etcd (PEM); read again at SIGHUP.",
       "those of the system", "/etc/gearstalkd/etcd-ca.pem"},
      {"etcd.certificate", Apply::kStore, Text(FIELD(etcd.certificate), "FILE"),
       "This broker's certificate for etcd (PEM); read again at SIGHUP.", "none",
       "/etc/gearstalkd/etcd.pem"},
      {"etcd.key", Apply::kStore, Text(FIELD(etcd.key), "FILE"),
       "Key of that certificate (PEM); read again at SIGHUP.", "the file of the certificate",
       "/etc/gearstalkd/etcd.key"},
      {"etcd.compact", Apply::kRestart, Truth(FIELD(etcd.compact)),
       "Compact etcd's history after old parts of the journal were deleted. It is the history of "
       "the whole cluster: false where others use it, too."},
  };
}

std::vector<Option> Postgres() {
  return {
      {"postgres.conninfo", Apply::kRestart, Text(FIELD(postgres.conninfo), "TEXT"),
       "Where PostgreSQL keeps the journal: libpq's keywords, or a URI. Name all servers that may "
       "become primary. Excludes etcd.endpoints and data_dir.",
       "the journal is not in PostgreSQL", "host=10.0.0.1,10.0.0.2 dbname=jobs user=gearstalkd"},
      {"postgres.schema", Apply::kRestart, Text(FIELD(postgres.schema), "NAME"),
       "Schema of this shard's tables, at most 63 bytes. The broker makes it if it is missing and "
       "the role has the right."},
      {"postgres.password_file", Apply::kStore, Text(FIELD(postgres.password_file), "FILE"),
       "File whose first line is the role's password; read again at SIGHUP.",
       "that of conninfo, or of ~/.pgpass", "/etc/gearstalkd/postgres-password"},
      {"postgres.ca", Apply::kStore, Text(FIELD(postgres.ca), "FILE"),
       "Authorities that sign the certificates of the servers (PEM), whose names are then checked; "
       "read again at SIGHUP.",
       "certificates are not checked", "/etc/gearstalkd/postgres-ca.pem"},
      {"postgres.certificate", Apply::kStore, Text(FIELD(postgres.certificate), "FILE"),
       "This broker's certificate for PostgreSQL (PEM); read again at SIGHUP.", "none",
       "/etc/gearstalkd/postgres.pem"},
      {"postgres.key", Apply::kStore, Text(FIELD(postgres.key), "FILE"),
       "Key of that certificate (PEM); read again at SIGHUP.", "the file of the certificate",
       "/etc/gearstalkd/postgres.key"},
      {"postgres.allow_unsafe", Apply::kRestart, Truth(FIELD(postgres.allow_unsafe)),
       "Start also where PostgreSQL confirms commits that it can lose (fsync or synchronous_commit "
       "is off): for tests."},
  };
}

std::vector<Option> Replica() {
  return {
      {"replica.lease", Apply::kRestart,
       Number(FIELD(replica.lease), "ms", 500, 60'000, kMillisecond),
       "Time without a sign of life of the active broker, after which another one takes over."},
      {"replica.name", Apply::kRestart, Text(FIELD(replica.name), "TEXT"),
       "Name of this broker in the shared journal, in logs and on /readyz.", "the host's name",
       "broker-1"},
      {"replica.address", Apply::kRestart, Text(FIELD(replica.address), "TEXT"),
       "Address of this broker that the other brokers report.", "the first address of listen",
       "10.0.0.11:11300"},
      {"replica.max_bytes", Apply::kRestart,
       Number(FIELD(replica.max_bytes), "bytes", 1 << 20, kAnySize),
       "Size of the shared journal; when 7/8 of it are used, only deletions are accepted. etcd's "
       "quota should be twice the size and 1 GiB.",
       "with etcd.endpoints: 1073741824; with postgres.conninfo: no limit", "1073741824"},
  };
}

std::vector<Option> Console() {
  return {
      {"console.enabled", Apply::kConsole, Truth(FIELD(console.enabled)),
       "Serve the API (/api/v1) and the console (/console/) on the addresses of `admin`."},
      {"console.users", Apply::kConsole,
       List(FIELD(console.users), "NAME ROLE[+bodies] sha256:HEX [TUBES]", ';'),
       "Who may use the API and the console. ROLE: viewer, operator or admin; HEX: the SHA-256 of "
       "the token, as `gearstalkctl token` prints it; TUBES: shell patterns, separated by commas. "
       "May be repeated.",
       "nobody has a token",
       "anna operator+bodies sha256:PUT-HERE-WHAT-gearstalkctl-token-PRINTS mail-*"},
      {"console.anonymous", Apply::kConsole, Text(FIELD(console.anonymous), "ROLE[+bodies]|none"),
       "What requests without a token may do.",
       "admin+bodies for loopback and Unix sockets while console.users is empty, else none",
       "viewer"},
      {"console.hosts", Apply::kConsole, List(FIELD(console.hosts), "NAME", ' '),
       "Host names that requests may be for, beside localhost and IP addresses. May be repeated.",
       "no others", "broker.example.com"},
      {"console.proxies", Apply::kConsole, List(FIELD(console.proxies), "ADDRESS|unix", ' '),
       "Proxies in front, by IP address, or `unix` for whoever comes over a Unix socket: the "
       "broker believes the client's address that they name in X-Forwarded-For, counts requests, "
       "wrong tokens and event streams by it, and names it in the audit trail. May be repeated.",
       "no proxy is believed", "unix"},
      {"console.base_path", Apply::kRestart,
       Checked(Text(FIELD(console.base_path), "/PATH"), SetBasePath),
       "Prefix of all paths that a proxy in front leaves on.", "no prefix", "/gearstalk"},
      {"console.rate", Apply::kConsole, Number(FIELD(console.rate), "requests", 0, 1'000'000),
       "Requests of the API a second, for each user or address; 0: no limit."},
      {"console.history_file", Apply::kRestart, Text(FIELD(console.history_file), "FILE"),
       "File for the charts of thirty days.", "the file `history` in data_dir",
       "/var/lib/gearstalkd/history"},
  };
}

#undef FIELD

}  // namespace

std::string Config::SyncText() const {
  if (sync == Sync::kAlways) return "always";
  if (sync == Sync::kSystem) return "never";
  return fmt::format("{}ms", sync_interval / kMillisecond);
}

std::span<const Option> Options() {
  static const std::vector<Option> options = [] {
    std::vector<Option> all;
    for (auto group : {Service, Logging, Limits, TlsAndRights, Process, Etcd, Postgres, Replica,
                       Protocols, Console, Policies}) {
      for (Option& option : group()) all.push_back(std::move(option));
    }
    return all;
  }();
  return options;
}

const Option* FindOption(std::string_view key) {
  const auto found = std::ranges::find(Options(), key, &Option::key);
  return found == Options().end() ? nullptr : &*found;
}

std::string FlagOf(const Option& option) {
  std::string flag = "--" + std::string(option.key);
  for (char& c : flag) c = c == '.' || c == '_' ? '-' : c;
  return flag;
}

std::string VariableOf(const Option& option) {
  std::string name = std::string(kVariablePrefix) + std::string(option.key);
  for (char& c : name) c = c == '.' ? '_' : static_cast<char>(std::toupper(c));
  return name;
}

std::string FileVariableOf(const Option& option) { return VariableOf(option) + "_FILE"; }

std::vector<const Option*> Difference(const Config& a, const Config& b) {
  std::vector<const Option*> changed;
  for (const Option& option : Options()) {
    if (option.kind.get(a) != option.kind.get(b)) changed.push_back(&option);
  }
  return changed;
}

}  // namespace gearstalk
