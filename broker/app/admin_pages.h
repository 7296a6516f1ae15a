#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admin/http_server.h"
#include "admin/loop_lag.h"
#include "admin/metrics.h"
#include "broker/base/status.h"
#include "broker/engine/engine.h"
#include "broker/server/server.h"

namespace gearstalk {

// The pages for operators: /metrics, /healthz, /readyz.
class AdminPages {
 public:
  // `why_not_ready` is empty when the broker serves. All of it outlives the pages.
  AdminPages(const Engine& engine, const Server& server, std::vector<const Protocol*> protocols,
             std::function<std::string()> why_not_ready);

  Status Open(event_base* base, const std::string& address);
  bool open() const { return http_ != nullptr; }
  const std::string& name() const { return http_->name(); }
  void set_tubes(std::size_t tubes) { metrics_.set_tubes(tubes); }
  // To be told of every round.
  LoopLag& lag() { return lag_; }

 private:
  ServerCounts CountsOfServer() const;
  HttpAnswer Readiness() const;
  HttpAnswer MetricsPage(const HttpQuery& query);

  const Server& server_;
  const std::function<std::string()> why_not_ready_;
  LoopLag lag_;
  Metrics metrics_;
  std::unique_ptr<HttpServer> http_;  // its answers read the metrics
};

}  // namespace gearstalk
