#include "broker/app/replica_setup.h"

#include <fmt/format.h>

#include <initializer_list>
#include <random>
#include <utility>

#include "broker/app/settings.h"
#include "broker/app/store_module.h"
#include "broker/base/clock.h"
#include "broker/base/module.h"
#include "broker/replica/replica_tools.h"
#include "broker/replica/replicated_journal.h"

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
  GS_TRY(CheckNeeded("etcd.endpoints", !etcd.endpoints.empty(),
                     {{"etcd.user", etcd.user},
                      {"etcd.password_file", etcd.password_file},
                      {"etcd.ca", etcd.ca},
                      {"etcd.certificate", etcd.certificate},
                      {"etcd.key", etcd.key}}));
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

// The module of the store that keeps the journal.
Result<const StoreModule*> StoreOf(const Config& config) {
  const bool etcd = !config.etcd.endpoints.empty();
  const Result<const void*> loaded =
      LoadModule({.file = etcd ? "store_etcd.so" : "store_postgres.so",
                  .folder = "gearstalkd",
                  .package = etcd ? "gearstalkd-etcd" : "gearstalkd-postgres",
                  .symbol = "gearstalk_store"});
  if (loaded.ok()) return static_cast<const StoreModule*>(loaded.value());
  return Status(loaded.status().code(),
                fmt::format("{}: {}", config.ReplicatedBy(), loaded.status().message()));
}

Result<OpenedStore> OpenStore(const Config& config) {
  const auto module = StoreOf(config);
  return module.ok() ? module.value()->open(config, MaxBytesOf(config)) : module.status();
}

Status CheckStore(const Config& config) {
  GS_TRY(CheckWithout(config));
  if (!config.etcd.endpoints.empty() && !config.postgres.conninfo.empty()) {
    return {Code::kInvalid,
            "postgres.conninfo: excludes etcd.endpoints; a journal has one store, and "
            "--journal-export and --journal-import move it"};
  }
  const auto module = StoreOf(config);
  return module.ok() ? module.value()->check(config) : module.status();
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

Status CheckReplicaTool(const CommandLine& line) {
  const Config& config = line.settings.config;
  if (line.action == CommandLine::Action::kCheckReplica) {
    const bool etcd = line.text == "etcd";
    const bool there = etcd ? !config.etcd.endpoints.empty() : !config.postgres.conninfo.empty();
    if (config.Replicated() && !there) {
      return {Code::kInvalid,
              fmt::format("{}: missing; --journal-check {} needs it, and {} is given",
                          etcd ? "etcd.endpoints" : "postgres.conninfo", line.text,
                          config.ReplicatedBy())};
    }
  }
  if (config.Replicated()) return CheckStore(config);
  return {Code::kInvalid,
          "etcd.endpoints: missing; it, or postgres.conninfo, says where the journal is"};
}

Result<ReplicaSetup> OpenReplica(const Config& config) {
  OpenedStore opened = GS_TRY(OpenStore(config));
  auto journal =
      std::make_unique<ReplicatedJournal>(ReplicaOptionsOf(config), std::move(opened.store));
  return ReplicaSetup{std::move(journal), std::move(opened.reload)};
}

Status RunReplicaTool(const CommandLine& line, std::string& report) {
  const Config& config = line.settings.config;
  OpenedStore opened = GS_TRY(OpenStore(config));
  LogStore& store = *opened.store;
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
