#include "broker/app/admin_pages.h"

#include "broker/version.h"

namespace gearstalk {

AdminPages::AdminPages(const Engine& engine, const Server& server,
                       std::vector<const Protocol*> protocols,
                       std::function<std::string()> why_not_ready)
    : server_(server),
      why_not_ready_(std::move(why_not_ready)),
      metrics_({.engine = engine,
                .connections = server,
                .lag = lag_,
                .protocols = std::move(protocols),
                .server = [this] { return CountsOfServer(); },
                .now = [this] { return server_.Now(); },
                .started = server.Now(),
                .version = kVersion,
                .commit = kCommit}) {}

Status AdminPages::Open(event_base* base, const std::string& address) {
  Result<std::unique_ptr<HttpServer>> opened = HttpServer::Open(base, address);
  if (!opened.ok()) return opened.status();
  http_ = std::move(opened.value());
  http_->Serve("/healthz", [] { return HttpAnswer{.body = "ok\n"}; });
  http_->Serve("/readyz", [this] { return Readiness(); });
  http_->Serve("/metrics", [this](const HttpQuery& query) { return MetricsPage(query); });
  return {};
}

HttpAnswer AdminPages::Readiness() const {
  const std::string reason = why_not_ready_();
  return {.status = reason.empty() ? 200 : 503, .body = (reason.empty() ? "ready" : reason) + "\n"};
}

HttpAnswer AdminPages::MetricsPage(const HttpQuery& query) {
  const auto tubes = query.find("tubes");
  const bool all = tubes != query.end() && tubes->second == "all";
  return {
      .type = "text/plain; version=0.0.4; charset=utf-8", .body = {}, .rest = metrics_.Read(all)};
}

ServerCounts AdminPages::CountsOfServer() const {
  ServerCounts counts{.received_bytes = server_.received_bytes(),
                      .sent_bytes = server_.sent_bytes(),
                      .output_stalls = server_.stalls(),
                      .stalled_connections = server_.stalled(),
                      .output_limit = server_.limits().output,
                      .most_connections = server_.most_connections(),
                      .connections_of_busiest_address = server_.most_of_address(),
                      .connections_per_address_limit = server_.limits().connections_per_address,
                      .certificate_end = server_.tls() == nullptr ? 0 : server_.tls()->expires(),
                      .refused = {}};
  for (std::size_t i = 0; i < kRefusals; ++i) {
    counts.refused.emplace_back(kRefusalNames[i], server_.refusals().of(static_cast<Refusal>(i)));
  }
  return counts;
}

}  // namespace gearstalk
