#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/move/session/session.h"
#include "broker/base/clock.h"
#include "broker/engine/engine.h"
#include "broker/journal/journal.h"
#include "broker/server/held_input.h"
#include "broker/server/output.h"
#include "broker/server/protocol.h"
#include "broker/server/protocol_switch.h"
#include "proto_beanstalk/protocol.h"
#include "proto_gearman/protocol.h"

namespace gearstalk::simulation {

class Broker;

// The client's end of a connection.
class Ear {
 public:
  // Bytes left the broker.
  virtual void OnBytes(std::string_view bytes) = 0;
  // The broker closed the connection, or died.
  virtual void OnClosed() = 0;

 protected:
  ~Ear() = default;
};

// A connection as the broker's loop has it: what broker/server/connection.cc does, without a
// socket. The peer takes what is sent at once, unless it is stalled.
class Connection final : public Wire {
 public:
  Connection(Broker& broker, std::uint64_t id, Ear& ear);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // --- Wire
  Output& out() override { return out_; }
  const Peer& peer() const override { return peer_; }
  Time Now() const override;
  void Resume() override;
  void RunSoon() override;

  // --- From the network
  void Receive(std::string_view bytes);
  void ReceiveEof();
  void Break() { broken_ = true; }
  // While stalled the peer takes nothing.
  void Stall(bool stalled) { stalled_ = stalled; }
  bool stalled() const { return stalled_; }
  const Broker& broker() const { return broker_; }
  // Somebody else hears what is sent from now on; nullptr: nobody.
  void SetEar(Ear* ear) { ear_ = ear; }

  // --- For the broker
  void Run();
  bool runnable() const { return runnable_; }
  // Sends what may leave. False: the connection is over.
  bool Flush();
  // Whether something waits for the durable position, as of the last Flush.
  bool held() const { return held_; }
  // False: call again.
  bool Leave() { return switch_.Leave(); }
  Ear* ear() const { return ear_; }
  const Session* session() const { return switch_.owner(); }
  bool unsent() const { return !out_.empty(); }

 private:
  void OnInput();
  void AfterInput(Next next);

  Broker& broker_;
  Peer peer_;
  Ear* ear_;
  Output out_;
  ProtocolSwitch switch_;
  HeldInput input_;
  bool runnable_ = false, waits_ = false, eof_ = false, closing_ = false, broken_ = false;
  bool stalled_ = false, held_ = false;
};

// A process: engine, protocols, journal, and the rounds of the loop. Destroying it without Stop is
// the death of the process.
class Broker final : private JournalEvents, private ConnectionList {
 public:
  struct Options {
    EngineOptions engine;
    EngineLimits limits;
    PolicyRules rules;
    std::vector<Schedule> schedules;
    std::uint32_t max_job_size = 65535;
  };

  Broker(const FakeClock& clock, std::unique_ptr<Journal> journal, const Options& options);
  ~Broker();

  // Replays the journal.
  Status Start();
  Connection* Accept(Ear& ear);
  // The connection with this id breaks, if it is still there.
  void Break(std::uint64_t id);
  // Does what is there to do now, as a round of the loop does.
  void Round();
  // When a round has something to do even if nothing arrives.
  // `now` and the result: of a clock that goes slower or faster by `drift` millionths.
  Time NextDue(Time now, std::int64_t drift) const;
  // The journal's writer, which has no thread: `work` does a round and returns when the next is
  // due, from now; `after` says how long after a hand-over it begins.
  void SetWriter(std::function<Time()> work, std::function<Time()> after);
  // Called where a round is about to send: false if the process has died meanwhile.
  void SetAlive(std::function<bool()> alive) { alive_ = std::move(alive); }
  // Ends in order.
  Status Stop();
  // Of a journal that brokers share: closes all connections, and lets another broker lead. Rounds
  // go on until it has left, or is over.
  void Leave();
  bool has_left() const { return has_left_; }
  // Which one it has of those that a run has had.
  std::uint64_t policies_version = 0;
  // Clients may be accepted.
  bool serving() const { return serving_ && !leaves_; }
  // Another broker leads, or the journal cannot go on.
  const std::optional<std::pair<Status, int>>& over() const { return over_; }
  // The process is gone: so are its connections.
  void HangUp();

  Engine& engine() { return engine_; }
  Journal& journal() { return *journal_; }
  // Whether a connection has bytes that have not left.
  bool AnyUnsent() const;
  // Whether replies left in the last round.
  bool answered() const { return answered_; }
  std::string CheckInvariants() const;

  // --- For connections
  Time Now() const { return clock_.Now(); }
  Lsn Durable() const { return journal_->Durable(); }
  bool MayServe() const { return !frozen_ && journal_->MayServe(); }
  void NoteAnswered() { answered_ = true; }
  std::span<Protocol* const> protocols() const { return protocols_; }

 private:
  // --- JournalEvents
  void OnReplaying(const ReplayProgress&) override {}
  void OnFollowing(bool) override {}
  void OnActive() override { engine_.records().BecomeActive(clock_.Now()); }
  void OnServing() override;
  void OnSuspended(bool isolated) override;
  void OnResumed() override { frozen_ = false; }
  void OnOver(Status why, int exit_code) override { over_ = {std::move(why), exit_code}; }

  // --- ConnectionList
  Entry Next(int fd) const override;
  std::size_t Count() const override { return connections_.size(); }
  std::uint64_t Total() const override { return accepted_; }

  void TakeNotice();
  void HandOver();
  void RunWriter();
  bool HasNotice() const;
  void FlushAll();
  bool CloseLeaving();

  const FakeClock& clock_;
  std::unique_ptr<Journal> journal_;
  Engine engine_;
  beanstalk::Protocol beanstalk_;
  gearman::Protocol gearman_;
  transfer::TransferProtocol transfer_;
  std::vector<Protocol*> protocols_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Connection>> leaving_;
  std::function<Time()> write_, write_after_;
  std::function<bool()> alive_;
  Time write_at_ = kNever;
  Time next_due_ = 0;
  std::uint64_t accepted_ = 0;
  bool serving_ = false, frozen_ = false, leaves_ = false, has_left_ = false, answered_ = false;
  std::optional<std::pair<Status, int>> over_;
  enum class Abandon : std::uint8_t { kNone, kOnce, kAlways } abandon_ = Abandon::kNone;
};

}  // namespace gearstalk::simulation
