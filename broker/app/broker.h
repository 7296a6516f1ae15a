#pragma once

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/app/serving.h"
#include "broker/base/clock.h"
#include "broker/config/config.h"
#include "broker/journal/journal.h"
#include "broker/server/event_loop.h"

namespace gearstalk {

// What a broker asks of the process around it.
struct BrokerHooks {
  // Reads the configuration again.
  std::function<Result<Config>()> reread;
  // It serves; `addresses` are those it listens on.
  std::function<void(const std::vector<std::string>& addresses)> ready;
  // It follows a journal that another broker writes, and could take over.
  std::function<void()> standby = [] {};
  // Reads the files again that the journal needs to reach its store.
  std::function<Status(const Config&)> reload_journal = [](const Config&) { return Status(); };
};

// The broker while its process serves: reacts to signals, and to the journal as it starts, is
// suspended and ends.
class Broker final : private JournalEvents, private BrokerControl {
 public:
  Broker(Config config, BrokerHooks hooks, Journal& journal);

  // Starts the journal, listens on `sockets` when the journal lets it, and serves until it is told
  // to stop. Logs what went wrong, and returns the exit code.
  int Run(ListenSockets sockets, ListenSockets admin_sockets);

 private:
  // /readyz answers during a long replay, too.
  void OnReplaying(const ReplayProgress& progress) override;
  void OnFollowing(bool caught_up) override;
  void OnActive() override;
  void OnServing() override;
  void OnSuspended(bool isolated) override;
  void OnResumed() override;
  void OnOver(Status why, int exit_code) override;

  // BrokerControl
  std::string WhyNotReady(bool as_standby) const override;
  std::string WhyNotStarted() const override;
  NoActs WhyNoActs() const override;
  void SetDraining(bool draining, std::string_view asked_by) override;
  void StepDown() override { step_down_ = true; }
  void Shutdown(bool graceful, const Peer& peer) override;

  // broker_role.cc
  void LetAnotherLead();
  void LeaveJournal();

  void HandleSignals();
  Status Begin(ListenSockets admin_sockets);
  int CloseJournal();
  void Stop(std::string_view asked_by);
  void StopWhenDone();
  std::string StatusText() const;
  void EverySecond();
  void FollowWallClock();
  void LogRefusedJobs();
  void OnJournal();
  void TellOfHealth();
  void TellOfDisk();
  Status ImportOldLog();

  void Reload();
  Status Adopt(const Config& fresh);

  Config config_;
  const BrokerHooks hooks_;
  SystemClock clock_;
  Journal& journal_;
  EventLoop loop_;
  std::unique_ptr<Serving> serving_;
  std::vector<Event> events_;                 // signals and timers
  std::string not_ready_ = "starting";        // empty: serving
  ListenSockets sockets_;                     // until it listens on them
  std::string health_;                        // of the journal, as last logged
  std::array<std::uint64_t, kCodes> told_{};  // refused jobs that the log knows of, by Code
  bool disk_low_ = false;                     // as last logged
  std::uint64_t disk_mark_ = 0;               // the same
  bool stopping_ = false;
  bool stop_when_done_ = false;  // `shutdown graceful` was asked for
  int exit_code_ = EXIT_SUCCESS;
  bool standing_by_ = false;    // and said so
  std::string standby_status_;  // that the service manager was told
  bool listens_ = true;         // false: isolated
  bool step_down_ = false;      // the API was asked to
  bool over_ = false;           // the journal is another broker's
  Time tell_replay_ = 0;        // to the log, again
};

}  // namespace gearstalk
