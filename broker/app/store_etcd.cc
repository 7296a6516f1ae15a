// The module that keeps the journal in etcd.
#include "broker/app/store_module.h"
#include "broker/base/clock.h"
#include "broker/base/status.h"
#include "broker/etcd/etcd_store.h"

namespace gearstalk {
namespace {

etcd::EtcdOptions OptionsOf(const Config& config) {
  return {.endpoints = config.etcd.endpoints,
          .prefix = config.etcd.prefix,
          .user = config.etcd.user,
          .password_file = config.etcd.password_file,
          .ca = config.etcd.ca,
          .certificate = config.etcd.certificate,
          .key = config.etcd.key,
          .compact = config.etcd.compact,
          .lease = config.replica.lease};
}

Result<etcd::EtcdSecrets> Secrets(const Config& config) {
  const etcd::EtcdOptions options = OptionsOf(config);
  GS_TRY(etcd::CheckEndpoints(options));
  return etcd::LoadSecrets(options);
}

Status Check(const Config& config) { return StatusOf(Secrets(config)); }

// Starts the threads of gRPC.
Result<OpenedStore> Open(const Config& config, std::uint64_t /*max_bytes*/) {
  const etcd::EtcdSecrets secrets = GS_TRY(Secrets(config));
  etcd::LogThroughUs();
  auto store = std::make_unique<etcd::EtcdStore>(OptionsOf(config), secrets, BootTime);
  auto reload = [etcd = store.get()](const Config& fresh) -> Status {
    const Result<etcd::EtcdSecrets> again = etcd::LoadSecrets(OptionsOf(fresh));
    if (again.ok()) etcd->Reconnect(again.value());
    return StatusOf(again);
  };
  return OpenedStore{std::move(store), std::move(reload)};
}

}  // namespace
}  // namespace gearstalk

const gearstalk::StoreModule gearstalk_store = {gearstalk::Check, gearstalk::Open};
