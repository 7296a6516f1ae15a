// The module that keeps the journal in PostgreSQL.
#include "broker/app/store_module.h"
#include "broker/base/clock.h"
#include "broker/base/status.h"
#include "broker/postgres/postgres_store.h"

namespace gearstalk {
namespace {

postgres::PostgresOptions OptionsOf(const Config& config) {
  return {.conninfo = config.postgres.conninfo,
          .schema = config.postgres.schema,
          .password_file = config.postgres.password_file,
          .ca = config.postgres.ca,
          .certificate = config.postgres.certificate,
          .key = config.postgres.key,
          .allow_unsafe = config.postgres.allow_unsafe,
          .lease = config.replica.lease};
}

Status Check(const Config& config) { return StatusOf(postgres::HostsOf(OptionsOf(config))); }

Result<OpenedStore> Open(const Config& config, std::uint64_t max_bytes) {
  std::vector<postgres::Host> hosts = GS_TRY(postgres::HostsOf(OptionsOf(config)));
  auto store = std::make_unique<postgres::PostgresStore>(OptionsOf(config), std::move(hosts),
                                                         max_bytes, BootTime);
  auto reload = [postgres = store.get()](const Config& fresh) -> Status {
    Result<std::vector<postgres::Host>> again = postgres::HostsOf(OptionsOf(fresh));
    if (again.ok()) postgres->Reconnect(std::move(again.value()));
    return StatusOf(again);
  };
  return OpenedStore{std::move(store), std::move(reload)};
}

}  // namespace
}  // namespace gearstalk

const gearstalk::StoreModule gearstalk_store = {gearstalk::Check, gearstalk::Open};
