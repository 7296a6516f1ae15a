#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "admin/api/api.h"
#include "admin/api/broker_control.h"
#include "admin/http/server.h"
#include "admin/metrics/attention.h"
#include "admin/metrics/metrics.h"
#include "admin/move/session/session.h"
#include "broker/base/status.h"
#include "broker/config/config.h"
#include "broker/engine/engine.h"
#include "broker/server/server.h"

namespace gearstalk {

// All that is served over HTTP: /metrics, /healthz, /readyz, the API and the console.
class AdminPages final : private HttpSite, private api::Host {
 public:
  // What the pages show and change; it outlives them.
  struct Parts {
    const Config& config;  // the one that is in force
    Engine& engine;
    Server& server;
    const RoundHooks& round;
    std::vector<const Protocol*> protocols;
    transfer::TransferProtocol& transfer;
    const std::vector<std::string>& addresses;  // of clients
    BrokerControl& broker;
  };

  AdminPages(Parts parts, event_base* base);

  Status Listen(ListenSockets sockets);
  // The addresses that it listens on.
  const std::vector<std::string>& names() const { return names_; }
  // After the configuration has changed.
  void Adopt();
  void NoteReload() { api_.events().Notice("info", "reload", "the configuration was reloaded"); }
  api::Audit& audit() { return api_.audit(); }

  // What is due, in every round; returns when to call again.
  Time Tick(Time now);
  // At the end of every round: a slice of what takes long. False: there is nothing of the kind.
  bool RunSlices(Time now);
  void OnDurable() { http_.OnDurable(); }
  // What requests and unsent answers occupy.
  std::size_t Bytes() const { return http_.Bytes(); }
  void AbandonHeld(bool for_good) { http_.AbandonHeld(for_good); }

 private:
  // HttpSite
  std::size_t MaxBody(const HttpRequest& head) override;
  bool Probes(const HttpRequest& request) const override;
  HttpAnswer Answer(HttpRequest& request) override;
  HttpAnswer Refuse(int status, const HttpRequest& request) override;

  // api::Host
  Time Now() const override { return parts_.server.Now(); }
  ServerFacts Facts() const override;
  std::optional<std::uint64_t> DiskLeft() const;
  bool TakeTransfer(const std::string& name) override { return parts_.transfer.TakeTransfer(name); }
  void GiveTransfer(const std::string& name, Lsn changed) override {
    parts_.transfer.GiveTransfer(name, changed);
  }
  std::string_view LogLevelName() const override;
  void SetLogLevel(std::string_view level) override;
  void CloseConnection(int fd, std::uint64_t id) override { parts_.server.Disconnect(fd, id); }

  std::string_view WithoutBase(std::string_view path) const;
  bool Serves(std::string_view path) const;
  // With a request id, unless it has one.
  HttpAnswer Named(HttpAnswer answer);
  HttpAnswer Page(const HttpRequest& request, std::string_view path);
  HttpAnswer ConsolePage(const HttpRequest& request, std::string_view name);
  HttpAnswer Readiness(const HttpRequest& request) const;
  HttpAnswer MetricsPage(const HttpRequest& request);

  const Parts parts_;
  const Time started_;
  ListenSockets sockets_;
  std::vector<std::string> names_;
  Attention attention_;
  SliceQueue slices_;
  api::Api api_;
  Metrics metrics_;
  HttpServer http_;
  Time next_look_ = 0;  // for silent connections
};

}  // namespace gearstalk
