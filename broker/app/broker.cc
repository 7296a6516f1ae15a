#include "broker/app/broker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <set>
#include <utility>

#include "broker/app/import_binlog.h"
#include "broker/app/settings.h"
#include "broker/base/log.h"
#include "broker/base/status.h"
#include "broker/config/option.h"
#include "broker/process/log.h"
#include "broker/process/systemd.h"
#include "broker/version.h"

namespace gearstalk {
namespace {

std::string HoursLeft(const DiskSpace& disk) {
  if (disk.full_in == kNever) return "not known";
  return fmt::format("{:.1f}", static_cast<double>(disk.full_in) / (3600 * kSecond));
}

// What a configuration that was read again means for a broker that runs with another one.
struct ReloadPlan {
  Config config;                     // to go on with: the options that need a restart are as before
  std::set<Apply> groups;            // what has to be applied
  std::vector<std::string> changed;  // keys
  std::vector<std::string> restart;  // keys of changed options that need a restart
};

ReloadPlan PlanReload(const Config& running, const Config& fresh) {
  ReloadPlan plan{.config = fresh, .groups = {}, .changed = {}, .restart = {}};
  for (const Option* option : Difference(running, fresh)) {
    if (option->apply == Apply::kRestart) {
      option->kind.copy(running, plan.config);
      plan.restart.emplace_back(option->key);
    } else {
      plan.groups.insert(option->apply);
      plan.changed.emplace_back(option->key);
    }
  }
  const auto changed = [&](const char* key) {
    plan.groups.insert(Apply::kPolicies);
    plan.changed.emplace_back(key);
  };
  if (running.tubes != fresh.tubes) changed("tubes");
  if (running.schedules != fresh.schedules) changed("schedules");
  return plan;
}

}  // namespace

Broker::Broker(Config config, BrokerHooks hooks, Journal& journal)
    : config_(std::move(config)),
      hooks_(std::move(hooks)),
      journal_(journal),
      serving_(std::make_unique<Serving>(config_, clock_, loop_, journal_,
                                         static_cast<BrokerControl&>(*this))) {}

void Broker::Shutdown(bool graceful, const Peer& peer) {
  Log(LogLevel::kInfo, "shutdown", {{"client", peer.Name()}, {"connection", peer.id}});
  if (!graceful) return Stop("shutdown");
  SetDraining(true, "shutdown graceful");
  stop_when_done_ = true;
  StopWhenDone();
}

int Broker::Run(ListenSockets sockets, ListenSockets admin_sockets) {
  sockets_ = std::move(sockets);
  if (const Status begun = Begin(std::move(admin_sockets)); !begun.ok()) {
    Log(LogLevel::kCritical, begun.message());
    return EXIT_FAILURE;
  }
  serving_->server().Run();
  LeaveJournal();
  return CloseJournal();
}

int Broker::CloseJournal() {
  const Status closed = journal_.Close();
  if (!closed.ok()) {
    Log(LogLevel::kCritical, "closing the journal failed", {{"error", closed.message()}});
    exit_code_ = std::max(exit_code_, EXIT_FAILURE);
  }
  serving_.reset();
  Log(LogLevel::kInfo, "stopped");
  return exit_code_;
}

// From here on a signal ends the process in order. Before, there is nothing to put in order.
void Broker::HandleSignals() {
  if (!events_.empty()) return;
  events_.push_back(loop_.OnSignal(SIGTERM, [this] { Stop("SIGTERM"); }));
  events_.push_back(loop_.OnSignal(SIGINT, [this] { Stop("SIGINT"); }));
  events_.push_back(
      loop_.OnSignal(SIGUSR1, [this] { SetDraining(!serving_->engine().draining(), "SIGUSR1"); }));
  events_.push_back(loop_.OnSignal(SIGHUP, [this] { Reload(); }));
  events_.push_back(loop_.OnSignal(SIGUSR2, [this] { LetAnotherLead(); }));
  events_.push_back(loop_.Every(kSecond, [this] { EverySecond(); }));
  if (const Time interval = systemd::WatchdogInterval(); interval > 0) {
    events_.push_back(loop_.Every(interval / 2, systemd::NotifyWatchdog));
  }
}

// A second time: at once.
void Broker::Stop(std::string_view asked_by) {
  Log(LogLevel::kInfo, stopping_ ? "stopping at once" : "stopping", {{"asked_by", asked_by}});
  stopping_ = true;
  systemd::NotifyStopping();
  serving_->Stop();
}

void Broker::SetDraining(bool draining, std::string_view asked_by) {
  serving_->engine().SetDraining(draining);
  if (!draining) stop_when_done_ = false;
  Log(LogLevel::kInfo, draining ? "draining: no new jobs are taken" : "new jobs are taken again",
      {{"asked_by", asked_by}});
  systemd::NotifyStatus(StatusText());
}

// With a journal, queued jobs run after the next start. Buried jobs wait for a person, not for a
// worker.
void Broker::StopWhenDone() {
  if (!stop_when_done_ || stopping_) return;
  const EngineStats stats = serving_->engine().Stats();
  if (stats.reserved > 0 || (!journal_.Persistent() && stats.ready + stats.delayed > 0)) return;
  Stop("shutdown graceful");
}

std::string Broker::StatusText() const {
  return fmt::format("{} on {}", serving_->engine().draining() ? "draining" : "serving",
                     fmt::join(serving_->addresses(), " "));
}

// Both clocks run at the same rate, so a difference that changes is a step of the wall clock.
// Ignored steps must be shorter than the margin of gearman::ByEveryClock, or a job would run before
// its second. The process may lose its CPU between the readings; then the next call follows.
void Broker::FollowWallClock() {
  constexpr Time kStep = 3 * kMillisecond;
  clock_.Refresh();
  const Time before = clock_.Now();
  const Time wall = WallClock();
  clock_.Refresh();
  if (clock_.Now() - before > kMillisecond) return;
  const Time ahead = wall - before;
  if (std::abs(ahead - serving_->engine().wall_ahead()) < kStep) return;
  Log(LogLevel::kInfo, "the wall clock was set",
      {{"milliseconds", std::to_string((ahead - serving_->engine().wall_ahead()) / kMillisecond)}});
  serving_->engine().SetWallAhead(ahead);
}

void Broker::EverySecond() {
  FollowWallClock();
  LogRefusedJobs();
  RefillLog();
  if (Routers* const routers = serving_->server().routers()) routers->EverySecond(clock_.Now());
  StopWhenDone();
  // Not within the request, so that its answer is sent first.
  if (std::exchange(step_down_, false)) LetAnotherLead();
}

// Refused connections and commands are logged one by one; refused jobs are too many for that, and
// are counted.
void Broker::LogRefusedJobs() {
  const EngineStats stats = serving_->engine().Stats();
  for (const auto& [code, reason] : kJobRefusals) {
    const auto place = static_cast<std::size_t>(code);
    const std::uint64_t jobs =
        stats.refused[place] - std::exchange(told_[place], stats.refused[place]);
    if (jobs > 0) Log(LogLevel::kWarning, "jobs refused", {{"reason", reason}, {"jobs", jobs}});
  }
}

// Serves the pages, and starts the journal.
Status Broker::Begin(ListenSockets admin_sockets) {
  Security security = GS_TRY(LoadSecurity(config_));
  serving_->SetSecurity(std::move(security));
  GS_TRY(serving_->OpenPages(std::move(admin_sockets)));
  for (const std::string& name : serving_->pages().names())
    Log(LogLevel::kInfo, fmt::format("admin {}", name));
  journal_.SetOnDurable([this](Lsn) { serving_->OnDurable(); });
  journal_.SetOnStuck([this](bool for_good) { serving_->OnStuck(for_good); });
  // A signal ends a standby in order, too.
  if (journal_.Replica().shared) HandleSignals();
  GS_TRY(journal_.Start(serving_->engine().records(), *this));
  if (journal_.NotifyFd() < 0) return {};
  serving_->server().OnReadable(journal_.NotifyFd(), [this] { OnJournal(); });
  return {};
}

// Jobs that a beanstalkd left in data_dir.
Status Broker::ImportOldLog() {
  const Result<bool> found = HasBinlogToImport(config_);
  if (!found.ok() || !found.value()) return {};
  not_ready_ = "importing the log of beanstalkd";
  clock_.Refresh();
  return ImportBinlog(serving_->engine(), config_.data_dir, clock_.Now(), [this] {
    journal_.Flush(clock_.Now());
    while (journal_.WaitingBytes() > 0 && journal_.Health().ok()) {
      pollfd written{.fd = journal_.NotifyFd(), .events = POLLIN, .revents = 0};
      ::poll(&written, 1, 1000);
      journal_.OnNotify();
    }
    clock_.Refresh();
    loop_.RunOnce(0, 0);
    return journal_.Health();
  });
}

void Broker::OnJournal() {
  journal_.OnNotify();
  if (over_ || stopping_) return;
  TellOfHealth();
  TellOfDisk();
}

void Broker::TellOfHealth() {
  const std::string health = journal_.Health().message();
  if (health == health_) return;
  health_ = health;
  if (health.empty()) {
    Log(LogLevel::kInfo, "journal writable again");
  } else {
    Log(LogLevel::kError, "the journal takes no new jobs", {{"error", health}});
  }
}

void Broker::TellOfDisk() {
  const DiskSpace disk = journal_.Disk();
  if (std::exchange(disk_low_, disk.low) != disk.low) {
    Log(disk.low ? LogLevel::kError : LogLevel::kInfo,
        disk.low ? "too little of the disk is free: no new jobs are stored"
                 : "enough of the disk is free: new jobs are stored again",
        {{"free_bytes", disk.free}, {"limits.free_disk", disk.limit}});
  }
  if (disk.mark > std::exchange(disk_mark_, disk.mark)) {
    Log(LogLevel::kWarning, "the disk of the journal fills",
        {{"used_percent", disk.used_percent()},
         {"free_bytes", disk.free},
         {"hours_left", HoursLeft(disk)}});
  }
}

// --- What can change while the broker runs -------------------------------------------------------

void Broker::Reload() {
  serving_->server().BeginRound();
  systemd::NotifyReloading();
  const Result<Config> fresh = hooks_.reread();
  const Status adopted = fresh.ok() ? Adopt(fresh.value()) : fresh.status();
  if (!adopted.ok()) {
    Log(LogLevel::kError, "the configuration was not reloaded, nothing changed",
        {{"error", adopted.message()}});
    // Opens the log again: its file may have been moved away.
    const Status opened = OpenLog(LogSettingsOf(config_));
    if (!opened.ok()) Log(LogLevel::kError, opened.message());
  }
  systemd::NotifyReady(StatusText());
}

// All steps that can fail come first, and change nothing when they fail: Reload opens the log as it
// was. The journal's is the last, because it cannot be taken back.
Status Broker::Adopt(const Config& fresh) {
  ReloadPlan plan = PlanReload(config_, fresh);
  // Loads the files even if no option changed: the files may have.
  Security security = GS_TRY(LoadSecurity(plan.config));
  GS_TRY(OpenLog(LogSettingsOf(plan.config)));
  GS_TRY(hooks_.reload_journal(plan.config));
  config_ = std::move(plan.config);
  serving_->SetSecurity(std::move(security));
  for (const Apply group : plan.groups) serving_->Adopt(group);
  if (!plan.restart.empty()) {
    Log(LogLevel::kWarning, "some changes need a restart",
        {{"options", fmt::format("{}", fmt::join(plan.restart, ","))}});
  }
  serving_->pages().NoteReload();
  Log(LogLevel::kInfo, "the configuration was reloaded",
      {{"changed", fmt::format("{}", fmt::join(plan.changed, ","))}});
  return {};
}

}  // namespace gearstalk
