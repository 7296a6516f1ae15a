#include "broker/app/replica_setup.h"

#include <fmt/format.h>

#include <random>

#include "broker/app/settings.h"
#include "broker/base/clock.h"
#include "broker/base/wall_clock.h"

#if GEARSTALK_ETCD
#include "broker/etcd/etcd_store.h"
#include "broker/etcd/grpc_log.h"
#include "broker/replica/replica_tools.h"
#include "broker/replica/replicated_journal.h"
#endif

namespace gearstalk {
namespace {

// Refuses options that have a meaning only together with etcd.endpoints.
Status CheckWithout(const Config& config) {
  const std::pair<const char*, const std::string&> texts[] = {
      {"etcd.user", config.etcd.user},
      {"etcd.password_file", config.etcd.password_file},
      {"etcd.ca", config.etcd.ca},
      {"etcd.certificate", config.etcd.certificate},
      {"etcd.key", config.etcd.key}};
  for (const auto& [key, text] : texts) {
    if (!text.empty()) {
      return {Code::kInvalid, fmt::format("{} '{}': needs etcd.endpoints", key, text)};
    }
  }
  return {};
}

}  // namespace

#if GEARSTALK_ETCD
namespace {

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

ReplicaOptions ReplicaOptionsOf(const Config& config) {
  ReplicaOptions options;
  options.name = config.replica.name.empty() ? HostName() : config.replica.name;
  options.address = config.replica.address;
  if (options.address.empty() && !config.listen.empty()) {
    options.address = config.listen.front().substr(0, config.listen.front().find(','));
  }
  options.server_name = GearmanOptionsOf(config).server_name;
  options.lease = config.replica.lease;
  options.max_bytes = config.replica.max_bytes;
  options.boot = BootTime;
  options.wall = WallClock;
  options.random = [] {
    std::random_device random;
    return (std::uint64_t{random()} << 32U) | random();
  };
  return options;
}

Status CheckOptions(const etcd::EtcdOptions& options) {
  if (Status status = etcd::CheckEndpoints(options); !status.ok()) return status;
  const Result<etcd::EtcdSecrets> secrets = etcd::LoadSecrets(options);
  return secrets.ok() ? Status() : secrets.status();
}

Result<std::unique_ptr<etcd::EtcdStore>> OpenStore(const Config& config) {
  const etcd::EtcdOptions options = EtcdOptionsOf(config);
  if (Status status = etcd::CheckEndpoints(options); !status.ok()) return status;
  Result<etcd::EtcdSecrets> secrets = etcd::LoadSecrets(options);
  if (!secrets.ok()) return secrets.status();
  etcd::LogThroughUs();
  return std::make_unique<etcd::EtcdStore>(options, std::move(secrets.value()), BootTime);
}

}  // namespace

Status CheckReplication(const Config& config) {
  if (!IsReplicated(config)) return CheckWithout(config);
  if (!config.data_dir.empty()) {
    return {Code::kInvalid,
            fmt::format("data_dir '{}': excludes etcd.endpoints; --journal-import DIR moves a "
                        "journal from a directory into etcd, --journal-export DIR back",
                        config.data_dir)};
  }
  return CheckOptions(EtcdOptionsOf(config));
}

Status CheckReplicaTool(const Config& config) {
  if (!IsReplicated(config)) {
    return {Code::kInvalid, "etcd.endpoints: missing; it says where the journal is"};
  }
  return CheckOptions(EtcdOptionsOf(config));
}

Result<ReplicaSetup> OpenReplica(const Config& config) {
  Result<std::unique_ptr<etcd::EtcdStore>> store = OpenStore(config);
  if (!store.ok()) return store.status();
  ReplicaSetup setup;
  setup.reload = [etcd = store.value().get()](const Config& fresh) -> Status {
    const Result<etcd::EtcdSecrets> secrets = etcd::LoadSecrets(EtcdOptionsOf(fresh));
    if (!secrets.ok()) return secrets.status();
    etcd->Reconnect(secrets.value());
    return {};
  };
  setup.journal =
      std::make_unique<ReplicatedJournal>(ReplicaOptionsOf(config), std::move(store.value()));
  return setup;
}

Status RunReplicaTool(const CommandLine& line, std::string& report) {
  const Config& config = line.settings.config;
  Result<std::unique_ptr<etcd::EtcdStore>> store = OpenStore(config);
  if (!store.ok()) return store.status();
  switch (line.action) {
    case CommandLine::Action::kCheckReplica:
      return CheckReplica(*store.value(), report);
    case CommandLine::Action::kExportReplica:
      return ExportReplica(*store.value(), line.text, report);
    case CommandLine::Action::kImportReplica:
      return ImportReplica(*store.value(), ReplicaOptionsOf(config), line.text, report);
    default:
      return UpgradeReplica(*store.value(), report);
  }
}

#else
namespace {

Status NotBuilt() {
  return {Code::kInvalid,
          "etcd.endpoints: this gearstalkd was built without etcd (CMake option GEARSTALK_ETCD)"};
}

}  // namespace

Status CheckReplication(const Config& config) {
  return IsReplicated(config) ? NotBuilt() : CheckWithout(config);
}
Status CheckReplicaTool(const Config&) { return NotBuilt(); }
Result<ReplicaSetup> OpenReplica(const Config&) { return NotBuilt(); }
Status RunReplicaTool(const CommandLine&, std::string&) { return NotBuilt(); }

#endif

}  // namespace gearstalk
