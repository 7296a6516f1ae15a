#include "broker/app/admin_pages.h"

#include <fmt/format.h>

#include <algorithm>

#include "admin/console/assets.h"
#include "broker/app/settings.h"
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

std::vector<std::string> Split(std::string_view words) {
  std::vector<std::string> list;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (end > 0) list.emplace_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return list;
}

HttpAnswer Redirect(std::string to) {
  HttpAnswer answer{.status = 302, .type = ""};
  answer.headers = api::Api::CommonHeaders();
  answer.headers.emplace_back("Location", std::move(to));
  return answer;
}

HttpAnswer Plain(int status, std::string text) {
  HttpAnswer answer{.status = status, .body = std::move(text)};
  answer.headers = api::Api::CommonHeaders();
  return answer;
}

}  // namespace

AdminPages::AdminPages(const Config& config, Engine& engine, Server& server, event_base* base,
                       std::vector<const Protocol*> protocols, AdminHooks hooks)
    : config_(config),
      server_(server),
      protocols_(std::move(protocols)),
      hooks_(std::move(hooks)),
      started_(server.Now()),
      metrics_({.engine = engine,
                .connections = server,
                .lag = lag_,
                .protocols = protocols_,
                .server = [this] { return CountsOfServer(); },
                .now = [this] { return server_.Now(); },
                .started = started_,
                .version = kVersion,
                .commit = kCommit}),
      api_(engine, server, *this, slices_, HistoryFileOf(config)),
      http_(base, *this,
            {.begin_round = [this] { server_.BeginRound(); },
             .now = [this] { return server_.Now(); },
             .durable = [this] { return server_.Durable(); }},
            slices_) {
  for (const ConsoleAsset& asset : ConsoleAssets()) {
    console_.push_back({asset.name, asset.type, asset.plain, asset.gzip});
  }
  Adopt();
}

AdminPages::~AdminPages() = default;

Status AdminPages::Listen(std::vector<std::unique_ptr<ListenSocket>> sockets) {
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
  metrics_.set_tubes(config_.metrics_tubes);
  api_.guard().SetAccess(AccessSettingsOf(config_));
}

Time AdminPages::Tick(Time now) {
  Time next = std::min(lag_.Note(now), api_.Tick(now));
  if (now >= next_look_) {
    next_look_ = now + kSecond / 4;
    http_.CloseSilent();
  }
  return next;
}

// Runs one slice, and further ones while they take less than a part of the time that the round,
// begun at `now`, took before: a loop that is busy with clients has few rounds.
bool AdminPages::RunSlices(Time now) {
  if (slices_.empty()) return false;
  const Time began = hooks_.fresh();
  const Time share = std::min((began - now) / kShareOfSlices, kMostForSlices);
  do slices_.Run(now);
  while (!slices_.empty() && hooks_.fresh() - began < share);
  return true;
}

// "/base" is the folder itself without its slash, and becomes "".
std::string_view AdminPages::WithoutBase(std::string_view path) const {
  const std::string& base = config_.console.base_path;
  if (base.empty() || !path.starts_with(base)) return path;
  const std::string_view rest = path.substr(base.size());
  return rest.empty() || rest.starts_with('/') ? rest : path;
}

bool AdminPages::Serves(std::string_view path) const {
  return config_.console.enabled && path.starts_with(kApi) &&
         (path.size() == kApi.size() || path[kApi.size()] == '/');
}

std::size_t AdminPages::MaxBody(const HttpRequest& head) {
  return Serves(WithoutBase(head.path)) ? api_.MaxBody(head, server_.Now()) : kMaxPageBody;
}

HttpAnswer AdminPages::Refuse(int status, const HttpRequest& request) {
  // A malformed head names no path.
  const bool unknown = !request.path.starts_with('/') && config_.console.enabled;
  if (unknown || Serves(WithoutBase(request.path))) return api_.Refuse(status, request);
  return Named(Plain(status, fmt::format("{}\n", ReasonOf(status))));
}

HttpAnswer AdminPages::Named(HttpAnswer answer) {
  if (answer.request_id.empty()) answer.request_id = api_.NewRequestId();
  return answer;
}

HttpAnswer AdminPages::Answer(HttpRequest& request) {
  const std::string_view path = WithoutBase(request.path);
  if (Serves(path)) return api_.Answer(request, path.substr(kApi.size()), server_.Now());
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
  if (!config_.console.enabled) return Plain(404, "not found\n");
  const std::string& base = config_.console.base_path;
  if (path.empty()) return Redirect(base.substr(base.rfind('/') + 1) + kConsole.data());
  if (path == "/") return Redirect("console/");
  if (path == "/console") return Redirect("console/");
  if (path.starts_with(kConsole)) return ConsolePage(request, path.substr(kConsole.size()));
  return Plain(404, "not found\n");
}

HttpAnswer AdminPages::ConsolePage(const HttpRequest& request, std::string_view name) {
  if (auto refused = api_.RefusesPage(request, server_.Now())) return std::move(*refused);
  const HttpAsset* const asset = FindAsset(console_, name == "index.html" ? "" : name);
  return asset == nullptr ? Plain(404, "not found\n") : AnswerAsset(*asset, request);
}

HttpAnswer AdminPages::Readiness(const HttpRequest& request) const {
  bool as_standby = false;
  for (const auto& [name, value] : request.query) {
    as_standby = as_standby || (name == "role" && value == "standby");
  }
  const std::string reason = hooks_.why_not_ready(as_standby);
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

ServerCounts AdminPages::CountsOfServer() const {
  ServerCounts counts{.received_bytes = server_.received_bytes(),
                      .sent_bytes = server_.sent_bytes(),
                      .output_stalls = server_.stalls(),
                      .stalled_connections = server_.stalled(),
                      .output_limit = server_.limits().output,
                      .most_connections = server_.most_connections(),
                      .connections_of_busiest_address = server_.most_of_address(),
                      .connections_per_address_limit = server_.limits().connections_per_address,
                      .dropped_log_lines = DroppedLogLines(),
                      .certificate_end = server_.tls() == nullptr ? 0 : server_.tls()->expires(),
                      .refused = {}};
  for (std::size_t i = 0; i < kRefusals; ++i) {
    counts.refused.emplace_back(kRefusalNames[i], server_.refusals().of(static_cast<Refusal>(i)));
  }
  return counts;
}

api::ServerFacts AdminPages::Facts() const {
  const ServerCounts counts = CountsOfServer();
  api::ServerFacts facts{
      .version = kVersion,
      .commit = kCommit,
      .server_name = ServerNameOf(config_),
      .listen = Split(hooks_.addresses()),
      .admin = names_,
      .sync = SyncNameOf(config_),
      .started = started_,
      .connection_limit = counts.most_connections,
      .stalled = counts.stalled_connections,
      .received_bytes = counts.received_bytes,
      .sent_bytes = counts.sent_bytes,
      .max_job_size = config_.max_job_size == 0 ? UINT32_MAX : config_.max_job_size,
      .connections = {},
      .refused = counts.refused};
  for (const Protocol* protocol : protocols_) {
    facts.connections.emplace_back(protocol->name(), protocol->connections());
  }
  return facts;
}

void AdminPages::SetDraining(bool draining, std::string_view asked_by) {
  hooks_.set_draining(draining, asked_by);
}

std::string_view AdminPages::LogLevelName() const { return NameOf(LeastLogLevel()); }

void AdminPages::SetLogLevel(std::string_view level) { SetLeastLogLevel(LogLevelNamed(level)); }

}  // namespace gearstalk
