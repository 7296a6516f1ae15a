#include "broker/app/broker.h"

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "admin/metrics.h"
#include "broker/app/settings.h"
#include "broker/version.h"

namespace gearstalk {
namespace {

// gearmand's word for the log level.
std::string GearmanLogLevel() {
  switch (spdlog::get_level()) {
    case spdlog::level::trace:
    case spdlog::level::debug:
      return "DEBUG";
    case spdlog::level::info:
      return "INFO";
    case spdlog::level::warn:
      return "WARNING";
    case spdlog::level::err:
      return "ERROR";
    default:
      return "FATAL";
  }
}

}  // namespace

Broker::Broker(Config config, Journal& journal, WalJournal* wal)
    : config_(std::move(config)),
      journal_(journal),
      wal_(wal),
      engine_(EngineOptionsOf(config_), journal),
      work_(engine_, journal),
      server_(loop_, clock_, work_),
      beanstalk_(BeanstalkOptionsOf(config_),
                 beanstalk::Identity::OfThisProcess(kVersion, clock_.Now()), engine_, server_),
      gearman_(GearmanOptions(), engine_, server_) {}

int Broker::Run(std::vector<std::unique_ptr<ListenSocket>> sockets) {
  if (!OpenAdmin() || !Recover()) return EXIT_FAILURE;
  server_.set_hopeless_output(
      std::max<std::size_t>(256 << 20, std::size_t{4} * config_.max_job_size));
  on_stop_ = [this] { server_.Stop(); };
  on_drain_ = [this] { Drain("SIGUSR1"); };
  on_reload_ = [] { spdlog::info("SIGHUP: nothing to reload"); };
  const std::array signals = {loop_.OnSignal(SIGTERM, on_stop_), loop_.OnSignal(SIGINT, on_stop_),
                              loop_.OnSignal(SIGUSR1, on_drain_),
                              loop_.OnSignal(SIGHUP, on_reload_)};
  if (!Listen(std::move(sockets))) return EXIT_FAILURE;
  not_ready_.clear();
  server_.Run();
  const Status closed = wal_ == nullptr ? Status() : wal_->Close();
  if (!closed.ok()) spdlog::critical("the journal did not end well: {}", closed.message());
  spdlog::info("stopped");
  return closed.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}

void Broker::OnReplay(const ReplayProgress& progress) {
  not_ready_ = fmt::format("replaying the journal: {} records, {} of {} bytes", progress.records,
                           progress.bytes, progress.total_bytes);
  spdlog::info(not_ready_);
  loop_.RunOnce(0, 0);
}

gearman::Options Broker::GearmanOptions() {
  gearman::Options options = GearmanOptionsOf(config_);
  options.log_level = GearmanLogLevel;
  options.shutdown = [this](bool graceful) {
    graceful ? Drain("shutdown graceful") : server_.Stop();
  };
  return options;
}

void Broker::Drain(std::string_view asked_by) {
  engine_.Drain();
  spdlog::info("draining: no new jobs are taken ({})", asked_by);
}

bool Broker::OpenAdmin() {
  if (config_.admin.empty()) return true;
  Result<std::unique_ptr<HttpServer>> opened = HttpServer::Open(loop_.base(), config_.admin);
  if (!opened.ok()) {
    spdlog::critical(opened.status().message());
    return false;
  }
  admin_ = std::move(opened.value());
  admin_->Serve("/healthz", [] { return HttpAnswer{.body = "ok\n"}; });
  admin_->Serve("/readyz", [this] { return Readiness(); });
  admin_->Serve("/metrics", [this] {
    const TrafficCounts traffic{server_.received_bytes(), server_.sent_bytes()};
    return HttpAnswer{.type = "text/plain; version=0.0.4; charset=utf-8",
                      .body = MetricsText(engine_, server_, traffic)};
  });
  spdlog::info("admin {}", admin_->name());
  return true;
}

HttpAnswer Broker::Readiness() const {
  std::string reason = not_ready_;
  if (reason.empty() && engine_.draining()) reason = "draining";
  if (reason.empty()) reason = journal_.Health().message();
  return {.status = reason.empty() ? 200 : 503, .body = (reason.empty() ? "ready" : reason) + "\n"};
}

// Brings the jobs back from the journal.
bool Broker::Recover() {
  if (wal_ == nullptr) {
    spdlog::warn("no --data-dir: jobs live in memory and end with the process");
    return true;
  }
  if (const Status status = journal_.Replay(engine_); !status.ok()) {
    spdlog::critical(status.message());
    return false;
  }
  engine_.FinishReplay();
  if (!wal_->torn().empty()) spdlog::warn(wal_->torn());
  const EngineStats stats = engine_.Stats();
  spdlog::info("the journal in {} holds {} jobs", config_.data_dir,
               stats.ready + stats.delayed + stats.buried);
  journal_.SetOnDurable([this](Lsn) { server_.OnDurable(); });
  journal_.SetOnStuck([this](bool for_good) {
    if (for_good) engine_.DropUndurable();
    server_.AbandonHeld(for_good);
  });
  on_notify_ = [this] { OnJournal(); };
  server_.Watch(wal_->NotifyFd(), on_notify_);
  return true;
}

void Broker::OnJournal() {
  wal_->OnNotify();
  const std::string health = journal_.Health().message();
  if (health == health_) return;
  health_ = health;
  health.empty() ? spdlog::info("the journal takes everything again")
                 : spdlog::error("the journal does not take new jobs: {}", health);
}

bool Broker::Listen(std::vector<std::unique_ptr<ListenSocket>> sockets) {
  std::string names;
  for (auto& socket : sockets) {
    std::vector<Protocol*> speakers = Speakers(socket->address());
    const Result<std::string> name = server_.Listen(std::move(socket), std::move(speakers));
    if (!name.ok()) {
      spdlog::critical(name.status().message());
      return false;
    }
    names += " " + name.value();
  }
  // Tools wait for this line, so it ignores the log level.
  fmt::print(stderr, "ready{}\n", names);
  return true;
}

std::vector<Protocol*> Broker::Speakers(const ListenAddress& address) {
  std::vector<Protocol*> speakers;
  for (Protocol* protocol :
       {static_cast<Protocol*>(&beanstalk_), static_cast<Protocol*>(&gearman_)}) {
    if (address.protocols == "auto" || address.protocols == protocol->name()) {
      speakers.push_back(protocol);
    }
  }
  return speakers;
}

}  // namespace gearstalk
