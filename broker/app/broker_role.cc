// The reactions of the broker as its journal starts, suspends and ends its service.

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "broker/app/broker.h"
#include "broker/app/start.h"
#include "broker/base/log.h"
#include "broker/process/systemd.h"

namespace gearstalk {
namespace {

using Role = ReplicaStats::Role;

constexpr int kSlicesOfReplay = 8;  // behind each part of a replay

// Why a broker among those that share its journal does not serve; empty: it serves.
std::string WhyNotServing(const ReplicaStats& replica) {
  const std::string& trouble = replica.trouble;
  if (replica.suspended) {
    return fmt::format("suspended: {}", trouble.empty() ? "no beat was confirmed" : trouble);
  }
  if (replica.role == Role::kActive) return replica.stuck ? trouble : "";
  if (!trouble.empty()) return trouble;
  if (replica.role == Role::kFollowing && replica.caught_up) {
    return replica.leader_known
               ? fmt::format("standby of {} at {}", replica.leader, replica.leader_address)
               : "standby: nobody leads";
  }
  return fmt::format("reading the journal: {} bytes, {} batches behind", replica.log_bytes,
                     replica.behind_batches);
}

}  // namespace

std::string Broker::WhyNotReady(bool as_standby) const {
  const ReplicaStats& replica = journal_.Replica();
  const bool follows = replica.role == Role::kFollowing && replica.caught_up;
  if (as_standby && follows && replica.trouble.empty()) return "";
  std::string why = WhyNotServing(replica);
  if (!why.empty()) return why;
  if (!not_ready_.empty()) return not_ready_;
  if (serving_->engine().draining()) return "draining";
  const Status health = journal_.Health();
  return health.ok() ? serving_->engine().bodies().trouble() : health.message();
}

// A standby shows the pages of its copy once it has all of it.
std::string Broker::WhyNotStarted() const {
  const ReplicaStats& replica = journal_.Replica();
  if (replica.role == Role::kActive) return not_ready_;
  return standing_by_ ? "" : WhyNotServing(replica);
}

BrokerControl::NoActs Broker::WhyNoActs() const {
  const ReplicaStats& replica = journal_.Replica();
  if (replica.role != Role::kActive) {
    return {"standby", replica.leader_known ? fmt::format("{} leads at {}: ask there",
                                                          replica.leader, replica.leader_address)
                                            : "nobody leads at the moment"};
  }
  if (replica.suspended || over_) return {"journal", WhyNotServing(replica)};
  return {};
}

void Broker::OnReplaying(const ReplayProgress& progress) {
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
  serving_->pages().Tick(clock_.Now());
  for (int slices = 0; slices < kSlicesOfReplay && serving_->pages().RunSlices(clock_.Now());
       ++slices)
    continue;
}

// Unlike a replay, this runs on the loop, which needs no turns in between.
void Broker::OnFollowing(bool caught_up) {
  const std::string why = WhyNotServing(journal_.Replica());
  if (!caught_up && !standing_by_) return systemd::NotifyStarting(why);
  if (std::exchange(standing_by_, true)) {
    if (std::exchange(standby_status_, why) != why) systemd::NotifyStatus(why);
    return;
  }
  standby_status_ = why;
  Log(LogLevel::kInfo, "caught up", {{"leader", journal_.Replica().leader}});
  hooks_.standby();
  systemd::NotifyReady(why);
}

void Broker::OnActive() {
  // A step of the wall clock while this broker was a standby, or replayed, must not move deadlines
  // now.
  clock_.Resync();
  serving_->engine().records().BecomeActive(clock_.Now());
  HandleSignals();
  if (!journal_.Persistent()) return;
  const EngineStats stats = serving_->engine().Stats();
  Log(LogLevel::kInfo, "journal replayed", {{"jobs", stats.ready + stats.delayed + stats.buried}});
}

void Broker::OnServing() {
  Status served = ImportOldLog();
  if (served.ok()) served = serving_->Listen(std::exchange(sockets_, {}));
  if (!served.ok()) {
    Log(LogLevel::kCritical, served.message());
    exit_code_ = EXIT_FAILURE;
    return serving_->server().Stop();
  }
  // The first client finds done what became due before.
  serving_->engine().Tick(clock_.Now());
  not_ready_.clear();
  hooks_.ready(serving_->addresses());
  systemd::NotifyReady(StatusText());
}

void Broker::OnSuspended(bool isolated) {
  serving_->server().Freeze(true);
  systemd::NotifyStatus((isolated ? "isolated from " : "suspended: no answer from ") +
                        journal_.Replica().store);
  // A stopping broker has already closed its listeners.
  if (!isolated || stopping_) return;
  serving_->server().CloseAll();
  serving_->server().StopListening();
  listens_ = false;
}

void Broker::OnResumed() {
  if (!stopping_ && !std::exchange(listens_, true)) {
    if (const Status status = serving_->server().ListenAgain(); !status.ok()) {
      return OnOver(status, EXIT_FAILURE);
    }
  }
  serving_->server().Freeze(false);
  systemd::NotifyStatus(StatusText());
}

void Broker::OnOver(Status why, int exit_code) {
  Log(LogLevel::kCritical, why.message());
  exit_code_ = exit_code;
  over_ = true;
  // The second call drops the replies that wait to be sent: none of them may leave.
  serving_->server().Stop();
  serving_->server().Stop();
}

// SIGUSR2: lets another broker lead.
void Broker::LetAnotherLead() {
  const ReplicaStats& replica = journal_.Replica();
  if (!replica.shared || replica.role != Role::kActive) {
    Log(LogLevel::kWarning, "not stepping down: this broker does not lead a shared journal");
    return;
  }
  if (!replica.caught_up) {
    Log(LogLevel::kWarning, "stepping down although no standby has caught up: nobody takes over");
  }
  exit_code_ = kExitStandby;
  Stop("SIGUSR2");
}

// All replies are sent: releases the lead, so that another broker takes over at once. Does not wait
// for a store that does not answer; the others then wait for the lease.
void Broker::LeaveJournal() {
  if (over_) return;
  bool left = false;
  journal_.Leave([&left] { left = true; });
  clock_.Refresh();
  const Time limit = clock_.Now() + std::max(config_.limits.stop_timeout, kSecond);
  while (!left && !over_ && clock_.Now() < limit) {
    const Time next = journal_.Tick(clock_.Now());
    journal_.Flush(clock_.Now());
    loop_.RunOnce(clock_.Now(), std::min(next, clock_.Now() + 10 * kMillisecond));
    clock_.Refresh();
  }
}

}  // namespace gearstalk
