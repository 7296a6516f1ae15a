#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admin/api/api.h"
#include "admin/http/assets.h"
#include "admin/http/server.h"
#include "admin/metrics/loop_lag.h"
#include "admin/metrics/metrics.h"
#include "broker/base/status.h"
#include "broker/config/config.h"
#include "broker/engine/engine.h"
#include "broker/server/server.h"

namespace gearstalk {

// What the pages ask of the broker, and have it do.
struct AdminHooks {
  // Empty: it serves, or could take over if it is asked as a standby.
  std::function<std::string(bool as_standby)> why_not_ready;
  std::function<std::string()> why_not_started;  // empty: the jobs are back
  std::function<api::Host::NoActs()> why_no_acts;
  std::function<void()> step_down;
  std::function<bool(const std::string&)> take_transfer;
  std::function<void(const std::string&)> give_transfer;
  std::function<void(bool, std::string_view asked_by)> set_draining;
  std::function<Time()> fresh;             // a clock read anew
  std::function<std::string()> addresses;  // of clients, a blank before each
};

// All that is served over HTTP: /metrics, /healthz, /readyz, the API and the console.
class AdminPages final : private HttpSite, private api::Host {
 public:
  // All of it outlives the pages; `config` is the one that is in force.
  AdminPages(const Config& config, Engine& engine, Server& server, event_base* base,
             std::vector<const Protocol*> protocols, AdminHooks hooks);
  ~AdminPages();

  Status Listen(std::vector<std::unique_ptr<ListenSocket>> sockets);
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
  void AbandonHeld(bool for_good) { http_.AbandonHeld(for_good); }

 private:
  // HttpSite
  std::size_t MaxBody(const HttpRequest& head) override;
  HttpAnswer Answer(HttpRequest& request) override;
  HttpAnswer Refuse(int status, const HttpRequest& request) override;

  // api::Host
  api::ServerFacts Facts() const override;
  std::string WhyNotReady() const override { return hooks_.why_not_ready(false); }
  std::string WhyNotStarted() const override { return hooks_.why_not_started(); }
  NoActs WhyNoActs() const override { return hooks_.why_no_acts(); }
  void StepDown() override { hooks_.step_down(); }
  bool TakeTransfer(const std::string& name) override { return hooks_.take_transfer(name); }
  void GiveTransfer(const std::string& name) override { hooks_.give_transfer(name); }
  void SetDraining(bool draining, std::string_view asked_by) override;
  std::string_view LogLevelName() const override;
  void SetLogLevel(std::string_view level) override;
  void CloseConnection(int fd, std::uint64_t id) override { server_.Disconnect(fd, id); }

  std::string_view WithoutBase(std::string_view path) const;
  bool Serves(std::string_view path) const;
  // With a request id, unless it has one.
  HttpAnswer Named(HttpAnswer answer);
  HttpAnswer Page(const HttpRequest& request, std::string_view path);
  HttpAnswer ConsolePage(const HttpRequest& request, std::string_view name);
  HttpAnswer Readiness(const HttpRequest& request) const;
  HttpAnswer MetricsPage(const HttpRequest& request);
  ServerCounts CountsOfServer() const;

  const Config& config_;
  Server& server_;
  const std::vector<const Protocol*> protocols_;
  const AdminHooks hooks_;
  const Time started_;
  std::vector<HttpAsset> console_;
  std::vector<std::unique_ptr<ListenSocket>> sockets_;
  std::vector<std::string> names_;
  LoopLag lag_;
  Metrics metrics_;
  SliceQueue slices_;
  api::Api api_;
  HttpServer http_;
  Time next_look_ = 0;  // for silent connections
};

}  // namespace gearstalk
