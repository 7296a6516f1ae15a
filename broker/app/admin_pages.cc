#include "broker/app/admin_pages.h"

#include <fmt/format.h>

#include <algorithm>

#include "admin/console/assets.h"
#include "broker/app/settings.h"
#include "broker/base/clock.h"
#include "broker/base/log.h"
#include "broker/process/log.h"
#include "broker/process/log_line.h"
#include "broker/version.h"

namespace gearstalk {
namespace {

constexpr Time kShareOfSlices = 4;
constexpr Time kMostForSlices = 500 * kMicrosecond;
constexpr std::size_t kMaxPageBody = 1024;  // bytes; nobody has anything to say
constexpr std::string_view kApi = "/api/v1";
constexpr std::string_view kConsole = "/console/";

HttpAnswer Redirect(std::string to) {
  HttpAnswer answer{{.status = 302, .type = ""}};
  answer.headers = api::Api::CommonHeaders();
  answer.headers.emplace_back("Location", std::move(to));
  return answer;
}

HttpAnswer Plain(int status, std::string text) {
  HttpAnswer answer{{.status = status, .body = std::move(text)}};
  answer.headers = api::Api::CommonHeaders();
  return answer;
}

}  // namespace

AdminPages::AdminPages(Parts parts, event_base* base)
    : parts_(std::move(parts)),
      started_(parts_.server.Now()),
      attention_({.engine = parts_.engine,
                  .facts = [this] { return Facts(); },
                  .disk_left = [this] { return DiskLeft(); }}),
      api_(parts_.engine, parts_.server, *this, parts_.broker, attention_, slices_,
           HistoryFileOf(parts_.config)),
      metrics_({.engine = parts_.engine,
                .connections = parts_.server,
                .lag = api_.loop_lag(),
                .attention = attention_,
                .protocols = parts_.protocols,
                .server = [this] { return Facts(); },
                .now = [this] { return parts_.server.Now(); }}),
      http_(base, *this,
            {.begin_round = [this] { parts_.server.BeginRound(); },
             .now = [this] { return parts_.server.Now(); },
             .durable = [this] { return parts_.server.Durable(); }},
            slices_) {
  Adopt();
}

Status AdminPages::Listen(ListenSockets sockets) {
  for (auto& socket : sockets) {
    const bool unix = !socket->address().path.empty();
    if (Status status = http_.Listen(socket->fd(), unix); !status.ok()) {
      return {status.code(),
              fmt::format("cannot listen on {}: {}", socket->name(), status.message())};
    }
    names_.push_back(socket->name());
    sockets_.push_back(std::move(socket));
  }
  return {};
}

void AdminPages::Adopt() {
  metrics_.set_tubes(parts_.config.metrics_tubes);
  api_.guard().SetAccess(AccessSettingsOf(parts_.config));
}

Time AdminPages::Tick(Time now) {
  const Time next = api_.Tick(now);
  if (now >= next_look_) {
    next_look_ = now + kSecond / 4;
    http_.CloseSilent();
  }
  return http_.connections() == 0 ? next : std::min(next, next_look_);
}

// Runs one slice, and further ones while they take less than a part of the time that the round,
// begun at `now`, took before: a loop that is busy with clients has few rounds.
bool AdminPages::RunSlices(Time now) {
  if (slices_.empty()) return false;
  const Time began = parts_.round.Fresh();
  const Time share = std::min((began - now) / kShareOfSlices, kMostForSlices);
  do slices_.Run(now);
  while (!slices_.empty() && parts_.round.Fresh() - began < share);
  return true;
}

// "/base" is the folder itself without its slash, and becomes "".
std::string_view AdminPages::WithoutBase(std::string_view path) const {
  const std::string& base = parts_.config.console.base_path;
  if (base.empty() || !path.starts_with(base)) return path;
  const std::string_view rest = path.substr(base.size());
  return rest.empty() || rest.starts_with('/') ? rest : path;
}

bool AdminPages::Serves(std::string_view path) const {
  return parts_.config.console.enabled && path.starts_with(kApi) &&
         (path.size() == kApi.size() || path[kApi.size()] == '/');
}

std::size_t AdminPages::MaxBody(const HttpRequest& head) {
  return Serves(WithoutBase(head.path)) ? api_.MaxBody(head, parts_.server.Now()) : kMaxPageBody;
}

bool AdminPages::Probes(const HttpRequest& request) const {
  const std::string_view path = WithoutBase(request.path);
  return path == "/healthz" || path == "/readyz" || path == "/metrics";
}

HttpAnswer AdminPages::Refuse(int status, const HttpRequest& request) {
  // A malformed head names no path.
  const bool unknown = !request.path.starts_with('/') && parts_.config.console.enabled;
  if (unknown || Serves(WithoutBase(request.path))) {
    return api_.Refuse(status, request, parts_.server.Now());
  }
  return Named(Plain(status, fmt::format("{}\n", ReasonOf(status))));
}

HttpAnswer AdminPages::Named(HttpAnswer answer) {
  if (answer.request_id.empty()) answer.request_id = api_.NewRequestId();
  return answer;
}

HttpAnswer AdminPages::Answer(HttpRequest& request) {
  const std::string_view path = WithoutBase(request.path);
  if (Serves(path)) return api_.Answer(request, path.substr(kApi.size()), parts_.server.Now());
  return Named(Page(request, path));
}

HttpAnswer AdminPages::Page(const HttpRequest& request, std::string_view path) {
  if (!request.Reads()) {
    HttpAnswer answer = Plain(405, "only GET and HEAD\n");
    answer.headers.emplace_back("Allow", "GET, HEAD");
    return answer;
  }
  if (path == "/healthz") return Plain(200, "ok\n");
  if (path == "/readyz") return Readiness(request);
  if (path == "/metrics") return MetricsPage(request);
  if (!parts_.config.console.enabled) return Plain(404, "not found\n");
  const std::string& base = parts_.config.console.base_path;
  if (path.empty()) return Redirect(base.substr(base.rfind('/') + 1) + kConsole.data());
  if (path == "/" || path == "/console") return Redirect("console/");
  if (path.starts_with(kConsole)) return ConsolePage(request, path.substr(kConsole.size()));
  return Plain(404, "not found\n");
}

HttpAnswer AdminPages::ConsolePage(const HttpRequest& request, std::string_view name) {
  if (auto refused = api_.RefusesPage(request, parts_.server.Now())) return std::move(*refused);
  const HttpAsset* const asset = FindAsset(ConsoleAssets(), name == "index.html" ? "" : name);
  return asset == nullptr ? Plain(404, "not found\n") : AnswerAsset(*asset, request);
}

HttpAnswer AdminPages::Readiness(const HttpRequest& request) const {
  bool as_standby = false;
  for (const auto& [name, value] : request.query) {
    as_standby = as_standby || (name == "role" && value == "standby");
  }
  const std::string reason = parts_.broker.WhyNotReady(as_standby);
  return Plain(reason.empty() ? 200 : 503, (reason.empty() ? "ready" : reason) + "\n");
}

HttpAnswer AdminPages::MetricsPage(const HttpRequest& request) {
  bool all = false;
  for (const auto& [name, value] : request.query) {
    if (name != "tubes") continue;
    if (value != "all") return Plain(400, "tubes: only tubes=all is known: it names every tube\n");
    all = true;
  }
  HttpAnswer answer = Plain(200, "");
  answer.type = "text/plain; version=0.0.4; charset=utf-8";
  answer.rest = metrics_.Read(all);
  return answer;
}

namespace {

void AddRouterFacts(const Routers& routers, ServerFacts& facts) {
  facts.router_restarts = routers.restarts();
  for (std::size_t i = 0; i < routers.count(); ++i) {
    const Routers::Facts of = routers.FactsOf(i);
    facts.routers.push_back({.process = std::max(of.pid, 0),
                             .streams = of.streams,
                             .cpu_seconds = Seconds(of.cpu),
                             .accepted = of.counters.accepted,
                             .handshakes = of.counters.handshakes,
                             .received_bytes = of.counters.received_bytes,
                             .sent_bytes = of.counters.sent_bytes,
                             .from_link_bytes = of.received_bytes,
                             .to_link_bytes = of.sent_bytes});
  }
}

std::vector<CertificateFacts> CertificatesOf(const TlsContext* tls) {
  std::vector<CertificateFacts> facts;
  if (tls == nullptr) return facts;
  for (const TlsCertificate& each : tls->certificates()) {
    facts.push_back({std::string(each.option), each.subject, each.serial, each.ends});
  }
  return facts;
}

}  // namespace

ServerFacts AdminPages::Facts() const {
  const Server& server = parts_.server;
  const Config& config = parts_.config;
  ServerFacts facts{.version = kVersion,
                    .commit = kCommit,
                    .server_name = ServerNameOf(config),
                    .listen = parts_.addresses,
                    .admin = names_,
                    .sync = SyncNameOf(config),
                    .started = started_,
                    .max_job_size = config.max_job_size == 0 ? UINT32_MAX : config.max_job_size,
                    .received_bytes = server.received_bytes(),
                    .sent_bytes = server.sent_bytes(),
                    .output_stalls = server.stalls(),
                    .stalled_connections = server.stalled(),
                    .output_limit = server.limits().output,
                    .most_connections = server.most_connections(),
                    .connections_of_busiest_address = server.most_of_address(),
                    .connections_per_address_limit = server.limits().connections_per_address,
                    .dropped_log_lines = DroppedLogLines(),
                    .certificates = CertificatesOf(server.tls().get()),
                    .connections = {},
                    .refused = {},
                    .cpu_seconds = Seconds(CpuTimeOf(0)),
                    .loop_cpu_seconds = Seconds(CpuTimeOfThread()),
                    .routers = {}};
  if (server.routers() != nullptr) AddRouterFacts(*server.routers(), facts);
  for (const Protocol* protocol : parts_.protocols) {
    facts.connections.emplace_back(protocol->name(), protocol->connections());
  }
  for (std::size_t i = 0; i < kRefusals; ++i) {
    facts.refused.emplace_back(kRefusalNames[i], server.refusals().of(static_cast<Refusal>(i)));
  }
  return facts;
}

std::optional<std::uint64_t> AdminPages::DiskLeft() const {
  const DiskSpace disk = parts_.engine.journal().Disk();
  return disk.total == 0 ? std::nullopt : std::optional(disk.free);
}

std::string_view AdminPages::LogLevelName() const { return NameOf(LeastLogLevel()); }

void AdminPages::SetLogLevel(std::string_view level) { SetLeastLogLevel(LogLevelNamed(level)); }

}  // namespace gearstalk
