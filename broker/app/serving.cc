#include "broker/app/serving.h"

#include <utility>

#include "broker/app/settings.h"
#include "broker/app/sockets.h"
#include "broker/base/log.h"
#include "broker/base/status.h"
#include "broker/process/log_line.h"

namespace gearstalk {

Serving::Serving(const Config& config, SystemClock& clock, EventLoop& loop, Journal& journal,
                 BrokerControl& broker)
    : config_(config),
      clock_(clock),
      journal_(journal),
      broker_(broker),
      engine_(EngineOptionsOf(config), journal),
      work_(clock, engine_, journal),
      server_(loop, clock, work_),
      beanstalk_(BeanstalkOptionsOf(config),
                 beanstalk::Identity::OfThisProcess(BeanstalkVersionOf(config), clock.Now()),
                 engine_, server_),
      gearman_(GearmanOptions(), engine_, server_),
      transfer_(engine_),
      pages_({.config = config,
              .engine = engine_,
              .server = server_,
              .round = work_,
              .protocols = {&beanstalk_, &gearman_},
              .transfer = transfer_,
              .addresses = addresses_,
              .broker = broker},
             loop.base()) {
  server_.SetOnOperatorAct([this](const Peer& peer, const OperatorAct& act) {
    pages_.audit().Add(peer, act, server_.Now());
  });
  if (const std::size_t routers = RoutersOf(config); routers > 0) server_.UseRouters(routers);
  work_.CountBeside([this] {
    const Routers* const routers = server_.routers();
    return pages_.Bytes() + (routers == nullptr ? 0 : routers->UnderWay());
  });
  for (const Apply group : {Apply::kJobSize, Apply::kLimits, Apply::kPolicies}) Adopt(group);
}

gearman::Options Serving::GearmanOptions() {
  gearman::Options options = GearmanOptionsOf(config_);
  options.log_level = [] { return std::string(GearmandNameOf(LeastLogLevel())); };
  options.shutdown = [this](bool graceful, const Peer& peer) { broker_.Shutdown(graceful, peer); };
  options.may_shut_down = [this](const Peer& peer) { return MayShutDown(peer); };
  return options;
}

bool Serving::MayShutDown(const Peer& peer) const {
  const Config::ShutdownFrom from = config_.shutdown_from;
  return from == Config::ShutdownFrom::kAnywhere ||
         (from == Config::ShutdownFrom::kLoopback && peer.local);
}

Status Serving::OpenPages(ListenSockets sockets) {
  GS_TRY(pages_.Listen(std::move(sockets)));
  if (pages_.names().empty()) return {};
  work_.CallLast([this](Time now) { return pages_.Tick(now); });
  work_.CallIdle([this](Time now) { return pages_.RunSlices(now); });
  return {};
}

Status Serving::Listen(ListenSockets sockets) {
  transfer_.SetClasses({config_.gearman.priority_high, config_.gearman.priority_normal,
                        config_.gearman.priority_low});
  for (auto& socket : sockets) {
    std::vector<Protocol*> speakers = Speakers(socket->address());
    addresses_.emplace_back() = GS_TRY(server_.Listen(std::move(socket), std::move(speakers)));
  }
  return server_.StartRouters();
}

std::vector<Protocol*> Serving::Speakers(const ListenAddress& address) {
  std::vector<Protocol*> speakers;
  for (Protocol* protocol :
       {static_cast<Protocol*>(&beanstalk_), static_cast<Protocol*>(&gearman_)}) {
    if (address.protocols == "auto" || address.protocols == protocol->name()) {
      speakers.push_back(protocol);
    }
  }
  speakers.push_back(&transfer_);
  return speakers;
}

void Serving::SetSecurity(Security security) {
  LogCertificates(server_.tls().get(), security.tls.get());
  server_.SetTls(std::move(security.tls));
  server_.SetAccess(std::move(security.access));
}

void Serving::Adopt(Apply group) {
  switch (group) {
    case Apply::kJobSize:
      return ApplyJobSize();
    case Apply::kLimits:
    case Apply::kMaxQueue:
      server_.SetLimits(config_.limits);
      journal_.KeepFree(FreeDiskOf(config_));
      journal_.Verify(config_.journal_verify);
      return engine_.SetLimits(EngineLimitsOf(config_));
    case Apply::kGearman:
      engine_.SetOptions(EngineOptionsOf(config_));
      return gearman_.set_exceptions(config_.gearman.exceptions);
    case Apply::kMetrics:
    case Apply::kConsole:
      return pages_.Adopt();
    case Apply::kPolicies:
      return ApplyPolicies();
    case Apply::kTls:  // SetSecurity
    case Apply::kRights:
    case Apply::kStore:  // the journal's
    case Apply::kLog:
    case Apply::kShutdownFrom:  // read from config_ whenever it matters
    case Apply::kRestart:
      break;
  }
}

void Serving::ApplyJobSize() {
  const std::uint32_t largest = GearmanOptionsOf(config_).max_workload;
  beanstalk_.set_max_job_size(BeanstalkOptionsOf(config_).max_job_size);
  gearman_.set_max_workload(largest);
  server_.set_most_unread_output((std::size_t{16} << 20) + largest);
}

// Reading the configuration has checked all of it.
void Serving::ApplyPolicies() {
  engine_.SetOptions(EngineOptionsOf(config_));
  engine_.SetRules(clock_.Now(), PolicyRules(config_.tubes));
  gearman_.set_time_zone(config_.time_zone);
  const Status planned =
      engine_.schedules().Set(clock_.Now(), config_.schedules, config_.time_zone);
  if (!planned.ok())
    Log(LogLevel::kError, "no schedule was changed", {{"error", planned.message()}});
}

void Serving::OnDurable() {
  server_.OnDurable();
  pages_.OnDurable();
}

void Serving::OnStuck(bool for_good) {
  if (for_good) engine_.DropUndurable();
  server_.AbandonHeld(for_good);
  pages_.AbandonHeld(for_good);
}

void Serving::Stop() {
  engine_.Stop();
  work_.set_stopping();
  server_.Stop();
}

}  // namespace gearstalk
