#include "broker/app/broker.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>

#include "broker/app/settings.h"
#include "broker/base/log.h"
#include "broker/process/log.h"
#include "broker/process/log_line.h"
#include "broker/process/systemd.h"
#include "broker/version.h"

namespace gearstalk {

Broker::Broker(Config config, BrokerHooks hooks, Journal& journal, WalJournal* wal)
    : config_(std::move(config)),
      hooks_(std::move(hooks)),
      journal_(journal),
      wal_(wal),
      engine_(EngineOptionsOf(config_), journal),
      work_(engine_, journal),
      server_(loop_, clock_, work_),
      beanstalk_(BeanstalkOptionsOf(config_),
                 beanstalk::Identity::OfThisProcess(kVersion, clock_.Now()), engine_, server_),
      gearman_(GearmanOptions(), engine_, server_),
      admin_(engine_, server_, {&beanstalk_, &gearman_}, [this] { return WhyNotReady(); }) {}

int Broker::Run(std::vector<std::unique_ptr<ListenSocket>> sockets) {
  ApplyAll();
  Result<Security> security = LoadSecurity(config_);
  if (!security.ok()) {
    Log(LogLevel::kCritical, security.status().message());
    return EXIT_FAILURE;
  }
  ApplySecurity(std::move(security.value()));
  if (!OpenAdmin() || !Recover() || !Listen(std::move(sockets))) return EXIT_FAILURE;
  Serve();
  const Status closed = wal_ == nullptr ? Status() : wal_->Close();
  if (!closed.ok()) {
    Log(LogLevel::kCritical, "the journal did not end well", {{"error", closed.message()}});
  }
  Log(LogLevel::kInfo, "stopped");
  return closed.ok() ? EXIT_SUCCESS : EXIT_FAILURE;
}

void Broker::Serve() {
  std::function<void()> terminate = [this] { Stop("SIGTERM"); };
  std::function<void()> interrupt = [this] { Stop("SIGINT"); };
  std::function<void()> drain = [this] { Drain("SIGUSR1"); };
  std::function<void()> reload = [this] { Reload(); };
  std::function<void()> every_second = [this] {
    LogRefusedJobs();
    RefillLog();
  };
  std::function<void()> watchdog = systemd::NotifyWatchdog;
  const std::array signals = {loop_.OnSignal(SIGTERM, terminate), loop_.OnSignal(SIGINT, interrupt),
                              loop_.OnSignal(SIGUSR1, drain), loop_.OnSignal(SIGHUP, reload)};
  const Event second = loop_.Every(kSecond, every_second);
  Event alive;
  if (const Time interval = systemd::WatchdogInterval(); interval > 0) {
    alive = loop_.Every(interval / 2, watchdog);
  }
  not_ready_.clear();
  hooks_.ready(addresses_);
  systemd::NotifyReady(StatusText());
  server_.Run();
}

void Broker::OnReplay(const ReplayProgress& progress) {
  not_ready_ = fmt::format("replaying the journal: {} records, {} of {} bytes", progress.records,
                           progress.bytes, progress.total_bytes);
  clock_.Refresh();
  if (clock_.Now() >= tell_replay_) {
    tell_replay_ = clock_.Now() + kSecond;
    Log(LogLevel::kInfo, "replaying the journal",
        {{"records", progress.records},
         {"bytes", progress.bytes},
         {"total_bytes", progress.total_bytes}});
  }
  systemd::NotifyStarting(not_ready_);
  loop_.RunOnce(0, 0);
}

gearman::Options Broker::GearmanOptions() {
  gearman::Options options = GearmanOptionsOf(config_);
  options.log_level = [] { return std::string(GearmandNameOf(LeastLogLevel())); };
  options.shutdown = [this](bool graceful, const Peer& peer) {
    Log(LogLevel::kInfo, "shutdown", {{"client", peer.address}, {"connection", peer.id}});
    graceful ? Drain("shutdown graceful") : Stop("shutdown");
  };
  options.may_shut_down = [this](const Peer& peer) { return MayShutDown(peer); };
  return options;
}

bool Broker::MayShutDown(const Peer& peer) const {
  switch (config_.shutdown_from) {
    case Config::ShutdownFrom::kLoopback:
      return peer.local;
    case Config::ShutdownFrom::kAnywhere:
      return true;
    case Config::ShutdownFrom::kNowhere:
      break;
  }
  return false;
}

// A second time: at once.
void Broker::Stop(std::string_view asked_by) {
  Log(LogLevel::kInfo, stopping_ ? "stopping at once" : "stopping", {{"asked_by", asked_by}});
  stopping_ = true;
  systemd::NotifyStopping();
  server_.Stop();
}

void Broker::Drain(std::string_view asked_by) {
  engine_.Drain();
  Log(LogLevel::kInfo, "draining: no new jobs are taken", {{"asked_by", asked_by}});
  systemd::NotifyStatus(StatusText());
}

std::string Broker::StatusText() const {
  return fmt::format("{} on{}", engine_.draining() ? "draining" : "serving", addresses_);
}

// The server tells of every connection and command that it refuses; jobs are too many for that.
void Broker::LogRefusedJobs() {
  const EngineStats stats = engine_.Stats();
  for (const auto& [code, reason] : kJobRefusals) {
    const auto place = static_cast<std::size_t>(code);
    const std::uint64_t jobs =
        stats.refused[place] - std::exchange(told_[place], stats.refused[place]);
    if (jobs > 0) Log(LogLevel::kWarning, "jobs refused", {{"reason", reason}, {"jobs", jobs}});
  }
}

bool Broker::OpenAdmin() {
  if (config_.admin.empty()) return true;
  if (const Status opened = admin_.Open(loop_.base(), config_.admin); !opened.ok()) {
    Log(LogLevel::kCritical, opened.message());
    return false;
  }
  admin_.set_tubes(config_.metrics_tubes);
  work_.Watch(admin_.lag());
  Log(LogLevel::kInfo, fmt::format("admin {}", admin_.name()));
  return true;
}

std::string Broker::WhyNotReady() const {
  if (!not_ready_.empty()) return not_ready_;
  return engine_.draining() ? "draining" : journal_.Health().message();
}

// Brings the jobs back from the journal.
bool Broker::Recover() {
  if (wal_ == nullptr) {
    Log(LogLevel::kWarning, "no --data-dir: jobs live in memory and end with the process");
    return true;
  }
  if (const Status status = journal_.Replay(engine_); !status.ok()) {
    Log(LogLevel::kCritical, status.message());
    return false;
  }
  engine_.FinishReplay();
  if (!wal_->torn().empty()) Log(LogLevel::kWarning, wal_->torn());
  const EngineStats stats = engine_.Stats();
  Log(LogLevel::kInfo, "the journal is read",
      {{"data_dir", config_.data_dir}, {"jobs", stats.ready + stats.delayed + stats.buried}});
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
  if (health.empty()) {
    Log(LogLevel::kInfo, "the journal takes everything again");
  } else {
    Log(LogLevel::kError, "the journal does not take new jobs", {{"error", health}});
  }
}

bool Broker::Listen(std::vector<std::unique_ptr<ListenSocket>> sockets) {
  for (auto& socket : sockets) {
    std::vector<Protocol*> speakers = Speakers(socket->address());
    const Result<std::string> name = server_.Listen(std::move(socket), std::move(speakers));
    if (!name.ok()) {
      Log(LogLevel::kCritical, name.status().message());
      return false;
    }
    addresses_ += " " + name.value();
  }
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
