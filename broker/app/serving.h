#pragma once

#include <string>
#include <vector>

#include "admin/move/session/session.h"
#include "broker/app/admin_pages.h"
#include "broker/app/engine_work.h"
#include "broker/app/security.h"
#include "broker/base/clock.h"
#include "broker/config/config.h"
#include "broker/config/option.h"
#include "broker/engine/engine.h"
#include "broker/journal/journal.h"
#include "broker/server/server.h"
#include "proto_beanstalk/protocol.h"
#include "proto_gearman/protocol.h"

namespace gearstalk {

// All that serves: the engine, the server, the protocols and the pages, and the wires between them.
// It is made for a journal that has not started, and can be dropped at any time between two rounds
// of the loop, with every connection, and made anew for another journal.
class Serving final {
 public:
  // All of it outlives the object; `config` is the one that is in force, and has been checked.
  Serving(const Config& config, SystemClock& clock, EventLoop& loop, Journal& journal,
          BrokerControl& broker);
  // Sessions end before the protocols that made them.
  ~Serving() { server_.DropAll(); }

  Engine& engine() { return engine_; }
  const Engine& engine() const { return engine_; }
  Server& server() { return server_; }
  AdminPages& pages() { return pages_; }

  // The pages are served from now on. Errors name the address.
  Status OpenPages(ListenSockets sockets);
  // Clients are served from now on.
  Status Listen(ListenSockets sockets);
  // Those that it listens on.
  const std::vector<std::string>& addresses() const { return addresses_; }

  // The options of a group are as `config` has them now.
  void Adopt(Apply group);
  void SetSecurity(Security security);

  // What the journal tells: see Server.
  void OnDurable();
  void OnStuck(bool for_good);
  // The broker ends: sends pending replies.
  void Stop();

 private:
  gearman::Options GearmanOptions();
  bool MayShutDown(const Peer& peer) const;
  std::vector<Protocol*> Speakers(const ListenAddress& address);
  void ApplyJobSize();
  void ApplyPolicies();

  const Config& config_;
  SystemClock& clock_;
  Journal& journal_;
  BrokerControl& broker_;
  Engine engine_;
  EngineWork work_;
  Server server_;
  beanstalk::Protocol beanstalk_;
  gearman::Protocol gearman_;
  transfer::TransferProtocol transfer_;
  std::vector<std::string> addresses_;
  AdminPages pages_;
};

}  // namespace gearstalk
