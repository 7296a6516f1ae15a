#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "broker/base/status.h"
#include "broker/config/config.h"
#include "broker/replica/log_store.h"

namespace gearstalk {

// A store, and what SIGHUP does to it: it reads password and certificates again.
struct OpenedStore {
  std::unique_ptr<LogStore> store;
  std::function<Status(const Config&)> reload;
};

// What a module of a store has. etcd and PostgreSQL are modules, so that a broker without
// replication needs neither gRPC nor libpq.
struct StoreModule {
  // Checks the options of the store, and reads the files they name.
  Status (*check)(const Config&);
  // Connects to nothing yet. `max_bytes`: of the log.
  Result<OpenedStore> (*open)(const Config&, std::uint64_t max_bytes);
};

}  // namespace gearstalk

extern "C" const gearstalk::StoreModule gearstalk_store;
