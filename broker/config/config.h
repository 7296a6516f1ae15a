#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "broker/base/server_limits.h"
#include "broker/base/sync.h"
#include "broker/base/tls_files.h"
#include "broker/policy/policy_rules.h"
#include "broker/policy/schedule.h"

namespace gearstalk {

// Every option of the broker with its default; broker/config/options.cc says the rest about each.
// Sources, the first that has a word wins: flags, environment (GEARSTALKD_...), configuration
// file, default.
struct Config {
  enum class LogFormat : std::uint8_t { kText, kJson };
  enum class ImportBinlog : std::uint8_t { kRefuse, kYes, kNo };
  enum class ShutdownFrom : std::uint8_t { kLoopback, kAnywhere, kNowhere };

  struct MaxQueue {
    std::string tube;
    std::array<std::int64_t, 3> jobs;  // high, normal, low priority; 0: no limit
    bool operator==(const MaxQueue&) const = default;
  };

  struct Limits : ServerLimits {
    static constexpr std::uint64_t kBySize = UINT64_MAX;  // of the machine, or of the disk
    std::uint64_t memory = kBySize;                       // bytes of jobs; 0: none
    std::uint64_t bodies = kBySize;                       // bytes in memory; 0: all
    std::uint64_t free_disk = kBySize;                    // bytes that stay free; 0: none
    std::uint32_t tubes = 0;                              // 0: none
    std::vector<MaxQueue> maxqueue;
  };

  struct Beanstalk {
    std::string version;  // in `stats`; empty: the broker's own
  };

  struct Gearman {
    std::string version;                    // answers `version`; empty: the broker's own
    std::uint32_t default_ttr = 120;        // seconds
    std::uint32_t job_retries = 0;          // 0: no limit
    std::uint32_t idle_functions = 10'000;  // names kept of functions without workers and jobs
    bool wake_all = false;
    bool exceptions = false;
    std::uint32_t priority_high = 512;
    std::uint32_t priority_normal = 65536;
    std::uint32_t priority_low = 131072;
  };

  // The API and the console.
  struct Console {
    bool enabled = true;
    std::vector<std::string> users;    // "NAME ROLE[+bodies] sha256:HEX [TUBES]"
    std::string anonymous;             // "ROLE[+bodies]" or "none"; empty: by address
    std::vector<std::string> hosts;    // accepted in Host
    std::vector<std::string> proxies;  // addresses, or "unix"
    std::string base_path;             // empty: none
    std::uint32_t rate = 200;          // requests a second; 0: no limit
    std::string history_file;          // empty: `history` in data_dir
  };

  // Where the replicated journal is kept.
  struct Etcd {
    std::vector<std::string> endpoints;  // none: the journal is not replicated
    std::string prefix = "/gearstalkd/0/";
    std::string user, password_file;
    std::string ca, certificate, key;  // PEM files
    bool compact = true;
  };

  // The same in PostgreSQL, instead.
  struct Postgres {
    std::string conninfo;  // empty: not there
    std::string schema = "gearstalkd";
    std::string password_file;
    std::string ca, certificate, key;  // PEM files
    bool allow_unsafe = false;
  };

  struct Replica {
    Time lease = 2 * kSecond;
    std::string name;             // empty: the host's
    std::string address;          // empty: the first of `listen`
    std::uint64_t max_bytes = 0;  // 0: 1 GiB in etcd, no limit in PostgreSQL
  };

  std::vector<std::string> listen = {"127.0.0.1:11300", "127.0.0.1:4730", "[::1]:11300",
                                     "[::1]:4730"};
  std::vector<std::string> admin;  // of the operators' pages: ADDR:PORT or unix:/PATH; none
  static constexpr std::uint32_t kAutoRouters = UINT32_MAX;
  static constexpr std::uint32_t kMostRouters = 64;
  std::uint32_t routers = 0;  // processes that hold the clients' sockets
  std::string data_dir;       // empty: jobs live in memory
  ImportBinlog import_binlog = ImportBinlog::kRefuse;
  Sync sync = Sync::kAlways;
  Time sync_interval = 0;                   // kInterval
  std::uint64_t journal_verify = 32 << 20;  // bytes a second; 0: never
  std::uint32_t max_job_size = 0;  // bytes; 0: 65535 for put, 64 MiB for a Gearman workload
  std::string server_name;         // in handles; empty: the host's name
  std::string log_level = "info";
  LogFormat log_format = LogFormat::kText;
  std::string log_to = "stderr";  // or "file:/PATH", "journald", "syslog"
  Limits limits;
  TlsFiles tls;
  std::vector<std::string> rights;  // rules in order; none: everything is allowed
  ShutdownFrom shutdown_from = ShutdownFrom::kLoopback;
  std::uint32_t metrics_tubes = 20;
  std::string user;      // empty: as it was started
  std::string pid_file;  // empty: none
  bool daemon = false;
  Etcd etcd;
  Postgres postgres;
  Replica replica;
  Beanstalk beanstalk;
  Gearman gearman;
  Console console;
  std::string time_zone = "UTC";  // of schedules that name none, and of SUBMIT_JOB_SCHED
  bool fair = false;              // tubes take turns among jobs of one priority
  // In the configuration file only.
  std::vector<PolicyEntry> tubes;
  std::vector<Schedule> schedules;

  std::string SyncText() const;  // the option's word
  // Whether several brokers share the journal, and the option that says so.
  bool Replicated() const { return !etcd.endpoints.empty() || !postgres.conninfo.empty(); }
  const char* ReplicatedBy() const {
    return etcd.endpoints.empty() ? "postgres.conninfo" : "etcd.endpoints";
  }
};

}  // namespace gearstalk
