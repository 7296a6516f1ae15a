#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/app/admin_pages.h"
#include "broker/app/engine_work.h"
#include "broker/app/security.h"
#include "broker/base/clock.h"
#include "broker/config/config.h"
#include "broker/engine/engine.h"
#include "broker/journal/wal_journal.h"
#include "broker/server/server.h"
#include "proto_beanstalk/protocol.h"
#include "proto_gearman/protocol.h"

namespace gearstalk {

// What a broker asks of the process around it.
struct BrokerHooks {
  // Reads the configuration again.
  std::function<Result<Config>()> reread;
  // It serves; `addresses` are those it listens on, a blank before each.
  std::function<void(const std::string& addresses)> ready;
};

// All parts of a running broker, and the wires between them.
class Broker {
 public:
  // `wal` is `journal` if that is a write-ahead log, else nullptr.
  Broker(Config config, BrokerHooks hooks, Journal& journal, WalJournal* wal);

  // Brings the jobs back, listens on `sockets` and serves until it is told to stop. Says what went
  // wrong in the log, and returns the exit code.
  int Run(std::vector<std::unique_ptr<ListenSocket>> sockets);

  // Called by the journal every so often: /readyz answers during a long replay, too.
  void OnReplay(const ReplayProgress& progress);

 private:
  gearman::Options GearmanOptions();
  void Serve();
  void Stop(std::string_view asked_by);
  void Drain(std::string_view asked_by);
  std::string StatusText() const;
  bool OpenAdmin();
  std::string WhyNotReady() const;
  void LogRefusedJobs();
  bool Recover();
  void OnJournal();
  bool Listen(std::vector<std::unique_ptr<ListenSocket>> sockets);
  std::vector<Protocol*> Speakers(const ListenAddress& address);

  // broker_reload.cc
  void ApplyAll();
  void ApplyJobSize();
  void ApplyLimits();
  void ApplySecurity(Security security);
  bool MayShutDown(const Peer& peer) const;
  void ApplyGearman();
  void Reload();
  Status Adopt(const Config& fresh);

  Config config_;
  const BrokerHooks hooks_;
  SystemClock clock_;
  Journal& journal_;
  WalJournal* const wal_;
  Engine engine_;
  EngineWork work_;
  EventLoop loop_;
  Server server_;
  beanstalk::Protocol beanstalk_;
  gearman::GearmanProtocol gearman_;
  std::function<void()> on_notify_;
  AdminPages admin_;
  std::string addresses_;                     // that it listens on, a blank before each
  std::string health_;                        // of the journal, as last logged
  std::array<std::uint64_t, kCodes> told_{};  // refused jobs that the log knows of, by Code
  bool stopping_ = false;
  Time tell_replay_ = 0;                // to the log, again
  std::string not_ready_ = "starting";  // empty: serving
};

}  // namespace gearstalk
