#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admin/http_server.h"
#include "broker/app/engine_work.h"
#include "broker/base/clock.h"
#include "broker/config/config.h"
#include "broker/engine/engine.h"
#include "broker/journal/wal_journal.h"
#include "broker/server/server.h"
#include "proto_beanstalk/protocol.h"
#include "proto_gearman/protocol.h"

namespace gearstalk {

// All parts of a running broker, and the wires between them.
class Broker {
 public:
  // `wal` is `journal` if that is a write-ahead log, else nullptr.
  Broker(Config config, Journal& journal, WalJournal* wal);

  // Brings the jobs back, listens on `sockets` and serves until it is told to stop. Says what went
  // wrong in the log, and returns the exit code.
  int Run(std::vector<std::unique_ptr<ListenSocket>> sockets);

  // Called by the journal every so often: /readyz answers during a long replay, too.
  void OnReplay(const ReplayProgress& progress);

 private:
  gearman::Options GearmanOptions();
  void Drain(std::string_view asked_by);
  bool OpenAdmin();
  HttpAnswer Readiness() const;
  bool Recover();
  void OnJournal();
  bool Listen(std::vector<std::unique_ptr<ListenSocket>> sockets);
  std::vector<Protocol*> Speakers(const ListenAddress& address);

  Config config_;
  SystemClock clock_;
  Journal& journal_;
  WalJournal* const wal_;
  Engine engine_;
  EngineWork work_;
  EventLoop loop_;
  Server server_;
  beanstalk::Protocol beanstalk_;
  gearman::GearmanProtocol gearman_;
  std::function<void()> on_stop_, on_drain_, on_reload_, on_notify_;
  std::unique_ptr<HttpServer> admin_;
  std::string health_;                  // of the journal, as last logged
  std::string not_ready_ = "starting";  // empty: serving
};

}  // namespace gearstalk
