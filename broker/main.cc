// Wires the parts together: flags -> configuration -> journal -> engine -> protocols -> server.

#include <fmt/format.h>
#include <malloc.h>
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "admin/http_server.h"
#include "admin/metrics.h"
#include "broker/base/clock.h"
#include "broker/config/command_line.h"
#include "broker/engine/engine.h"
#include "broker/engine/slab.h"
#include "broker/journal/memory_journal.h"
#include "broker/journal/wal_check.h"
#include "broker/journal/wal_journal.h"
#include "broker/journal/wal_salvage.h"
#include "broker/server/server.h"
#include "broker/version.h"
#include "proto_beanstalk/protocol.h"
#include "proto_gearman/protocol.h"

namespace gearstalk {
namespace {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

void StartLog(const Config& config) {
  auto logger = std::make_shared<spdlog::logger>("gearstalkd",
                                                 std::make_shared<spdlog::sinks::stderr_sink_st>());
  // The line that says "ready" starts with that word, so lines have no other head.
  logger->set_pattern("%v");
  logger->set_level(spdlog::level::from_str(config.log_level));
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

// A connection is a descriptor: as many as the system allows.
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::string HostName() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  std::string host = name.data();
  if (host.size() > 40) host.resize(40);
  return host.empty() ? "localhost" : host;
}

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

EngineOptions EngineOptionsOf(const Config& config) {
  EngineOptions options;
  options.default_ttr_s = config.gearman.default_ttr;
  options.normal_to = config.gearman.priority_normal;
  options.job_retries = config.gearman.job_retries;
  options.wake_all = config.gearman.wake_all;
  return options;
}

WalOptions WalOptionsOf(const Config& config) {
  WalOptions options;
  options.directory = config.data_dir;
  options.sync = config.sync == Config::Sync::kAlways     ? SyncMode::kAlways
                 : config.sync == Config::Sync::kInterval ? SyncMode::kInterval
                                                          : SyncMode::kOff;
  options.interval = config.sync_interval;
  return options;
}

// What the loop does for engine and journal.
class EngineWork final : public Work {
 public:
  EngineWork(Engine& engine, Journal& journal) : engine_(engine), journal_(journal) {}
  Time Tick(Time now) override { return engine_.Tick(now); }
  void EndRound(Time now) override {
    journal_.Flush(now);
    GiveMemoryBack();
  }
  Lsn Durable() const override { return journal_.Durable(); }
  bool Behind() const override { return journal_.WaitingBytes() > kMaxWaiting; }

 private:
  static constexpr std::uint64_t kMaxWaiting = 32 << 20;  // bytes
  static constexpr std::size_t kPeak = 64 << 20;          // bytes

  // Most jobs live in slabs, which look after themselves. Large bodies are the allocator's, and
  // that keeps what a backlog needed until it is asked.
  void GiveMemoryBack() {
    const std::size_t used = JobMemory();
    peak_ = std::max(peak_, used);
    if (peak_ < kPeak || used > peak_ / 4) return;
    malloc_trim(0);
    peak_ = used;
  }

  Engine& engine_;
  Journal& journal_;
  std::size_t peak_ = 0;  // of JobMemory since memory was given back
};

class Broker {
 public:
  // `wal` is `journal` if that is a write-ahead log, else nullptr.
  Broker(const Config& config, Journal& journal, WalJournal* wal)
      : config_(config),
        journal_(journal),
        wal_(wal),
        engine_(EngineOptionsOf(config), journal),
        work_(engine_, journal),
        server_(loop_, clock_, work_),
        beanstalk_(BeanstalkOptions(), beanstalk::Identity::OfThisProcess(kVersion, clock_.Now()),
                   engine_, server_),
        gearman_(GearmanOptions(), engine_, server_) {}

  int Run() {
    if (!OpenAdmin() || !Recover()) return kFailed;
    server_.set_hopeless_output(
        std::max<std::size_t>(256 << 20, std::size_t{4} * config_.max_job_size));
    on_stop_ = [this] { server_.Stop(); };
    on_drain_ = [this] { Drain("SIGUSR1"); };
    on_reload_ = [] { spdlog::info("SIGHUP: nothing to reload"); };
    const std::array signals = {loop_.OnSignal(SIGTERM, on_stop_), loop_.OnSignal(SIGINT, on_stop_),
                                loop_.OnSignal(SIGUSR1, on_drain_),
                                loop_.OnSignal(SIGHUP, on_reload_)};
    if (!Listen()) return kFailed;
    not_ready_.clear();
    server_.Run();
    const Status closed = wal_ == nullptr ? Status() : wal_->Close();
    if (!closed.ok()) spdlog::critical("the journal did not end well: {}", closed.message());
    spdlog::info("stopped");
    return closed.ok() ? kDone : kFailed;
  }

  // Called by the journal every so often: /readyz answers during a long replay, too.
  void OnReplay(const ReplayProgress& progress) {
    not_ready_ = fmt::format("replaying the journal: {} records, {} of {} bytes", progress.records,
                             progress.bytes, progress.total_bytes);
    spdlog::info(not_ready_);
    loop_.RunOnce(0, 0);
  }

 private:
  beanstalk::Options BeanstalkOptions() const {
    beanstalk::Options options;
    if (config_.max_job_size > 0) options.max_job_size = config_.max_job_size;
    return options;
  }

  gearman::Options GearmanOptions() {
    gearman::Options options;
    options.server_name = config_.server_name.empty() ? HostName() : config_.server_name;
    options.version = kVersion;
    if (config_.max_job_size > 0) options.max_workload = config_.max_job_size;
    options.exceptions = config_.gearman.exceptions;
    options.priorities = {config_.gearman.priority_high, config_.gearman.priority_normal,
                          config_.gearman.priority_low};
    options.log_level = GearmanLogLevel;
    options.shutdown = [this](bool graceful) {
      graceful ? Drain("shutdown graceful") : server_.Stop();
    };
    return options;
  }

  void Drain(std::string_view asked_by) {
    engine_.Drain();
    spdlog::info("draining: no new jobs are taken ({})", asked_by);
  }

  bool OpenAdmin() {
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

  HttpAnswer Readiness() const {
    std::string reason = not_ready_;
    if (reason.empty() && engine_.draining()) reason = "draining";
    if (reason.empty()) reason = journal_.Health().message();
    return {.status = reason.empty() ? 200 : 503,
            .body = (reason.empty() ? "ready" : reason) + "\n"};
  }

  // Brings the jobs back from the journal.
  bool Recover() {
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
    on_notify_ = [this] { OnJournal(); };
    server_.Watch(wal_->NotifyFd(), on_notify_);
    return true;
  }

  void OnJournal() {
    wal_->OnNotify();
    const std::string health = journal_.Health().message();
    if (health == health_) return;
    health_ = health;
    health.empty() ? spdlog::info("the journal takes everything again")
                   : spdlog::error("the journal does not take new jobs: {}", health);
  }

  bool Listen() {
    std::string names;
    for (const std::string& text : config_.listen) {
      const Result<ListenAddress> address = ListenAddress::Parse(text);
      const Result<std::string> name =
          address.ok() ? server_.Listen(address.value(), Speakers(address.value()))
                       : address.status();
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

  std::vector<Protocol*> Speakers(const ListenAddress& address) {
    std::vector<Protocol*> speakers;
    for (Protocol* protocol :
         {static_cast<Protocol*>(&beanstalk_), static_cast<Protocol*>(&gearman_)}) {
      if (address.protocols == "auto" || address.protocols == protocol->name()) {
        speakers.push_back(protocol);
      }
    }
    return speakers;
  }

  const Config& config_;
  SystemClock clock_;
  Journal& journal_;
  WalJournal* const wal_;
  Engine engine_;
  EngineWork work_;
  EventLoop loop_;
  Server server_;
  beanstalk::Protocol beanstalk_;
  gearman::GearmanProtocol gearman_;
  std::function<void()> on_stop_, on_drain_, on_reload_, on_notify_;
  std::unique_ptr<HttpServer> admin_;
  std::string health_;                  // of the journal, as last logged
  std::string not_ready_ = "starting";  // empty: serving
};

int Serve(const Config& config) {
  if (config.data_dir.empty()) {
    MemoryJournal journal;
    return Broker(config, journal, nullptr).Run();
  }
  Broker* broker = nullptr;
  WalOptions options = WalOptionsOf(config);
  options.on_progress = [&](const ReplayProgress& progress) { broker->OnReplay(progress); };
  Result<std::unique_ptr<WalJournal>> journal = WalJournal::Open(std::move(options));
  if (!journal.ok()) {
    spdlog::critical(journal.status().message());
    return kFailed;
  }
  Broker durable(config, *journal.value(), journal.value().get());
  broker = &durable;
  return durable.Run();
}

int CheckListen(const Config& config) {
  for (const std::string& text : config.listen) {
    const Result<ListenAddress> address = ListenAddress::Parse(text);
    if (address.ok()) continue;
    fmt::print(stderr, "gearstalkd: {}\n", address.status().message());
    return kBadUsage;
  }
  return kDone;
}

// --journal-check and --journal-salvage.
int InspectJournal(const CommandLine& line) {
  std::string report;
  const Status status = line.action == CommandLine::Action::kCheckJournal
                            ? CheckJournal(SystemFileSystem(), line.text, report)
                            : SalvageJournal(SystemFileSystem(), line.text, report);
  fmt::print("{}", report);
  if (status.ok()) return kDone;
  fmt::print(stderr, "gearstalkd: {}\n", status.message());
  return kFailed;
}

int Main(int argc, char** argv) {
  const Result<CommandLine> line = ReadCommandLine(argc, argv);
  if (!line.ok()) {
    fmt::print(stderr, "gearstalkd: {}\n", line.status().message());
    return kBadUsage;
  }
  if (line.value().action == CommandLine::Action::kPrintAndExit) {
    fmt::print("{}", line.value().text);
    return kDone;
  }
  if (line.value().action == CommandLine::Action::kPrintVersion) {
    fmt::print("gearstalkd {}\n", kVersion);
    return kDone;
  }
  if (line.value().action == CommandLine::Action::kCheckJournal ||
      line.value().action == CommandLine::Action::kSalvageJournal) {
    return InspectJournal(line.value());
  }
  const Config& config = line.value().config;
  if (const int bad = CheckListen(config); bad != kDone) return bad;
  if (line.value().action == CommandLine::Action::kCheckConfig) {
    fmt::print("the configuration is good\n");
    return kDone;
  }
  signal(SIGPIPE, SIG_IGN);
  RaiseDescriptorLimit();
  StartLog(config);
  return Serve(config);
}

}  // namespace
}  // namespace gearstalk

int main(int argc, char** argv) { return gearstalk::Main(argc, argv); }
