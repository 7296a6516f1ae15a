#include "broker/app/replica_setup.h"

#include <fmt/format.h>

#include <initializer_list>
#include <random>
#include <utility>

#include "broker/app/settings.h"
#include "broker/base/clock.h"
#include "broker/base/wall_clock.h"
#include "broker/replica/replica_tools.h"
#include "broker/replica/replicated_journal.h"

#if GEARSTALK_ETCD
#include "broker/etcd/etcd_store.h"
#include "broker/etcd/grpc_log.h"
#endif
#if GEARSTALK_POSTGRES
#include "broker/postgres/postgres_store.h"
#endif

namespace gearstalk {
namespace {

struct Given {
  const char* key;
  const std::string& text;
};

// Refuses those that are given, unless `there`: without `needed` they have no meaning.
Status CheckNeeded(const char* needed, bool there, std::initializer_list<Given> options) {
  for (const Given& option : options) {
    if (there || option.text.empty()) continue;
    return {Code::kInvalid, fmt::format("{} '{}': needs {}", option.key, option.text, needed)};
  }
  return {};
}

Status CheckWithout(const Config& config) {
  const Config::Etcd& etcd = config.etcd;
  const Config::Postgres& postgres = config.postgres;
  Status status = CheckNeeded("etcd.endpoints", !etcd.endpoints.empty(),
                              {{"etcd.user", etcd.user},
                               {"etcd.password_file", etcd.password_file},
                               {"etcd.ca", etcd.ca},
                               {"etcd.certificate", etcd.certificate},
                               {"etcd.key", etcd.key}});
  if (!status.ok()) return status;
  return CheckNeeded("postgres.conninfo", !postgres.conninfo.empty(),
                     {{"postgres.password_file", postgres.password_file},
                      {"postgres.ca", postgres.ca},
                      {"postgres.certificate", postgres.certificate},
                      {"postgres.key", postgres.key}});
}

constexpr std::uint64_t kEtcdBytes = 1 << 30;  // that etcd's usual quota holds
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;

std::uint64_t MaxBytesOf(const Config& config) {
  if (config.replica.max_bytes != 0) return config.replica.max_bytes;
  return config.etcd.endpoints.empty() ? kNoLimit : kEtcdBytes;
}

ReplicaOptions ReplicaOptionsOf(const Config& config) {
  ReplicaOptions options;
  options.name = config.replica.name.empty() ? HostName() : config.replica.name;
  options.address = config.replica.address;
  if (options.address.empty() && !config.listen.empty()) {
    options.address = config.listen.front().substr(0, config.listen.front().find(','));
  }
  options.server_name = GearmanOptionsOf(config).server_name;
  options.lease = config.replica.lease;
  options.max_bytes = MaxBytesOf(config);
  options.boot = BootTime;
  options.wall = WallClock;
  options.random = [] {
    std::random_device random;
    return (std::uint64_t{random()} << 32U) | random();
  };
  return options;
}

// A store, and what SIGHUP does to it.
struct OpenedStore {
  std::unique_ptr<LogStore> store;
  std::function<Status(const Config&)> reload;
};

#if GEARSTALK_ETCD

etcd::EtcdOptions EtcdOptionsOf(const Config& config) {
  etcd::EtcdOptions options;
  options.endpoints = config.etcd.endpoints;
  options.prefix = config.etcd.prefix;
  options.user = config.etcd.user;
  options.password_file = config.etcd.password_file;
  options.ca = config.etcd.ca;
  options.certificate = config.etcd.certificate;
  options.key = config.etcd.key;
  options.compact = config.etcd.compact;
  options.lease = config.replica.lease;
  return options;
}

Result<etcd::EtcdSecrets> CheckEtcd(const Config& config) {
  const etcd::EtcdOptions options = EtcdOptionsOf(config);
  if (Status status = etcd::CheckEndpoints(options); !status.ok()) return status;
  return etcd::LoadSecrets(options);
}

Result<OpenedStore> OpenEtcd(const Config& config) {
  const Result<etcd::EtcdSecrets> secrets = CheckEtcd(config);
  if (!secrets.ok()) return secrets.status();
  etcd::LogThroughUs();
  auto store = std::make_unique<etcd::EtcdStore>(EtcdOptionsOf(config), secrets.value(), BootTime);
  OpenedStore opened;
  opened.reload = [etcd = store.get()](const Config& fresh) -> Status {
    const Result<etcd::EtcdSecrets> again = etcd::LoadSecrets(EtcdOptionsOf(fresh));
    if (again.ok()) etcd->Reconnect(again.value());
    return again.ok() ? Status() : again.status();
  };
  opened.store = std::move(store);
  return opened;
}

#else

Result<OpenedStore> OpenEtcd(const Config&) {
  return Status(
      Code::kInvalid,
      "etcd.endpoints: this gearstalkd was built without etcd (CMake option GEARSTALK_ETCD)");
}
Result<OpenedStore> CheckEtcd(const Config& config) { return OpenEtcd(config); }

#endif
#if GEARSTALK_POSTGRES

postgres::PostgresOptions PostgresOptionsOf(const Config& config) {
  postgres::PostgresOptions options;
  options.conninfo = config.postgres.conninfo;
  options.schema = config.postgres.schema;
  options.password_file = config.postgres.password_file;
  options.ca = config.postgres.ca;
  options.certificate = config.postgres.certificate;
  options.key = config.postgres.key;
  options.allow_unsafe = config.postgres.allow_unsafe;
  options.lease = config.replica.lease;
  return options;
}

Result<std::vector<postgres::Host>> CheckPostgres(const Config& config) {
  return postgres::HostsOf(PostgresOptionsOf(config));
}

Result<OpenedStore> OpenPostgres(const Config& config) {
  Result<std::vector<postgres::Host>> hosts = CheckPostgres(config);
  if (!hosts.ok()) return hosts.status();
  auto store = std::make_unique<postgres::PostgresStore>(
      PostgresOptionsOf(config), std::move(hosts.value()), MaxBytesOf(config), BootTime);
  OpenedStore opened;
  opened.reload = [postgres = store.get()](const Config& fresh) -> Status {
    Result<std::vector<postgres::Host>> again = CheckPostgres(fresh);
    if (again.ok()) postgres->Reconnect(std::move(again.value()));
    return again.ok() ? Status() : again.status();
  };
  opened.store = std::move(store);
  return opened;
}

#else

Result<OpenedStore> OpenPostgres(const Config&) {
  return Status(Code::kInvalid,
                "postgres.conninfo: this gearstalkd was built without PostgreSQL (CMake option "
                "GEARSTALK_POSTGRES)");
}
Result<OpenedStore> CheckPostgres(const Config& config) { return OpenPostgres(config); }

#endif

Result<OpenedStore> OpenStore(const Config& config) {
  return config.etcd.endpoints.empty() ? OpenPostgres(config) : OpenEtcd(config);
}

Status CheckStore(const Config& config) {
  if (Status status = CheckWithout(config); !status.ok()) return status;
  if (!config.etcd.endpoints.empty() && !config.postgres.conninfo.empty()) {
    return {Code::kInvalid,
            "postgres.conninfo: excludes etcd.endpoints; a journal has one store, and "
            "--journal-export and --journal-import move it"};
  }
  if (config.etcd.endpoints.empty()) {
    const auto checked = CheckPostgres(config);
    return checked.ok() ? Status() : checked.status();
  }
  const auto checked = CheckEtcd(config);
  return checked.ok() ? Status() : checked.status();
}

}  // namespace

Status CheckReplication(const Config& config) {
  if (!config.Replicated()) return CheckWithout(config);
  if (!config.data_dir.empty()) {
    return {Code::kInvalid,
            fmt::format("data_dir '{}': excludes {}; --journal-import DIR moves a journal from a "
                        "directory into {}, --journal-export DIR back",
                        config.data_dir, config.ReplicatedBy(),
                        config.etcd.endpoints.empty() ? "PostgreSQL" : "etcd")};
  }
  return CheckStore(config);
}

Status CheckReplicaTool(const Config& config) {
  if (config.Replicated()) return CheckStore(config);
  return {Code::kInvalid,
          "etcd.endpoints: missing; it, or postgres.conninfo, says where the journal is"};
}

Result<ReplicaSetup> OpenReplica(const Config& config) {
  Result<OpenedStore> opened = OpenStore(config);
  if (!opened.ok()) return opened.status();
  ReplicaSetup setup;
  setup.reload = std::move(opened->reload);
  setup.journal =
      std::make_unique<ReplicatedJournal>(ReplicaOptionsOf(config), std::move(opened->store));
  return setup;
}

Status RunReplicaTool(const CommandLine& line, std::string& report) {
  const Config& config = line.settings.config;
  Result<OpenedStore> opened = OpenStore(config);
  if (!opened.ok()) return opened.status();
  LogStore& store = *opened->store;
  switch (line.action) {
    case CommandLine::Action::kCheckReplica:
      return CheckReplica(store, report);
    case CommandLine::Action::kExportReplica:
      return ExportReplica(store, line.text, report);
    case CommandLine::Action::kImportReplica:
      return ImportReplica(store, ReplicaOptionsOf(config), line.text, report);
    default:
      return UpgradeReplica(store, report);
  }
}

}  // namespace gearstalk
