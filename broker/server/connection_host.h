#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/lsn.h"
#include "broker/server/access_rules.h"
#include "broker/server/connection.h"
#include "broker/server/limits.h"
#include "broker/server/protocol.h"
#include "broker/server/refusal.h"

namespace gearstalk {

// What the server calls in every round of its loop, on the loop's thread.
class RoundHooks {
 public:
  // Begins a round: reads the clock.
  virtual void BeginRound() {}
  // The clock, read anew, to measure durations. A clock that stands still bounds nothing.
  virtual Time Fresh() const { return 0; }
  // Does what is due and returns when to call again.
  virtual Time Tick(Time now) = 0;
  // All commands of the round have run: hands their changes to the journal.
  virtual void EndRound(Time now) = 0;
  // The replies of the round are sent: does work that no reply waits for. True: there is more of
  // it, or it made changes for the journal, so the next round begins at once.
  virtual bool AfterRound(Time) { return false; }
  // The durable position: replies up to it may leave.
  virtual Lsn Durable() const = 0;
  // Whether the journal is so far behind that connections that wait for it are not read.
  virtual bool Behind() const = 0;
  // Whether the memory limit for clients is reached.
  virtual bool MemoryFull() const { return false; }
  // Whether anything may be sent now; asked before each send.
  virtual bool MaySend() const { return true; }

 protected:
  ~RoundHooks() = default;
};

// What connections ask of the server: the round that it is in, their shares of it, and the lists
// of those that wait for something.
class ConnectionHost {
 public:
  // The most that is read from one connection before others get their turn, in bytes, besides the
  // body of a job.
  static constexpr std::size_t kReadSize = 128 * 1024;
  // About so many bytes are read in one round, besides the bodies of jobs, and so many are sent.
  static constexpr std::size_t kRoundRead = 2 << 20;
  static constexpr std::uint64_t kRoundSent = 4 << 20;
  // How long a round reads and runs what arrives. What is left comes in the next round, in the
  // order in which it came.
  static constexpr Time kReadTime = 2 * kMillisecond;
  // Turns of a round after which each of the following is given less.
  static constexpr std::size_t kTurnsOfAShare = 16;
  // With routers: turns of a round for which the clock is read once.
  static constexpr std::size_t kTurnsOfALook = 4;
  // In one round: steps of TLS handshakes, each some tenths of a millisecond of public-key
  // cryptography, or several with a long key. The first of a round is always done, the others while
  // there is time.
  static constexpr int kRoundHandshakes = 4;
  static constexpr Time kHandshakeTime = kMillisecond;

  ConnectionHost(const ConnectionHost&) = delete;
  ConnectionHost& operator=(const ConnectionHost&) = delete;

  Time Now() const { return clock_.Now(); }
  Lsn Durable() const { return hooks_.Durable(); }
  bool Behind() const { return hooks_.Behind(); }
  bool MemoryFull() const { return hooks_.MemoryFull(); }
  bool MaySend() const { return !frozen_ && hooks_.MaySend(); }
  bool frozen() const { return frozen_; }
  std::span<char> read_buffer() { return read_buffer_; }
  // Every callback of the loop calls it first: the first one of a round reads the clock.
  void BeginRound();
  void NoteDirty(Connection& connection) {
    Link(dirty_.ordinary, connection, connection.dirty_hook);
  }
  void NoteHeld(Connection& connection) { Link(held_, connection, connection.held_hook); }
  void RunLater(Connection& connection) { Queue(run_.ordinary, connection); }
  // Its turn is over, and it has more to say.
  void RunAgain(Connection& connection);
  // A connection has something to be read: false if the time of the round is over.
  bool TakeTurn();
  // What each session may take in its turn.
  const TurnShare& share() const { return share_; }
  // What may be read from a connection now, besides the body of a job, in bytes.
  std::size_t read_share() const;
  // What each connection may be sent in this round, in bytes.
  std::size_t send_share() const;
  // Whether one more step of a handshake may be done in this round.
  bool TakeHandshake();
  void NoteUndecided(Connection& connection);
  void NoteLeaving(Connection& connection) { Link(leaving_, connection, connection.leave_hook); }
  // Its events are off until the server is no longer frozen.
  void NoteFrozen(Connection& connection) { Link(asleep_, connection, connection.frozen_hook); }
  void CountReceived(std::size_t bytes) { received_ += bytes; }
  void CountSent(std::size_t bytes) { sent_ += bytes; }
  void CountStall() { ++stalls_; }
  void NoteStalled(bool stalled) { stalled ? ++stalled_ : --stalled_; }

  const ServerLimits& limits() const { return limits_; }
  // A peer for which more bytes of unrequested results (Output::unasked) wait is cut off. Several
  // times the largest message.
  void set_most_unread_output(std::size_t bytes) { most_unread_output_ = bytes; }
  std::size_t most_unread_output() const { return most_unread_output_; }
  // Counts it and tells the log.
  void Refuse(Refusal refusal, const Peer& peer, const Refused& what = {});
  const RefusalCounts& refusals() const { return refusals_; }
  // Its rights are those of its address and certificate.
  void UpdateAccess(Connection& connection);
  // Called with each act of an operator over a client's connection.
  using OnOperatorAct = std::function<void(const Peer& peer, const OperatorAct& act)>;
  void SetOnOperatorAct(OnOperatorAct hook) { on_operator_act_ = std::move(hook); }
  void NoteOperatorAct(const Peer& peer, const OperatorAct& act) const {
    if (on_operator_act_) on_operator_act_(peer, act);
  }

  std::uint64_t received_bytes() const { return received_; }
  std::uint64_t sent_bytes() const { return sent_; }
  // How often a peer's commands had to wait because ServerLimits::output was reached.
  std::uint64_t stalls() const { return stalls_; }
  // Connections whose commands wait until what was answered has left.
  std::size_t stalled() const { return stalled_; }

 private:
  friend class Server;

  template <Connection::Hook Connection::*hook>
  using List =
      boost::intrusive::list<Connection,
                             boost::intrusive::member_hook<Connection, Connection::Hook, hook>,
                             boost::intrusive::constant_time_size<false>>;

  // Two queues, so that a connection that sends now and then does not wait for a turn of each
  // connection that never stops.
  template <Connection::Hook Connection::*hook>
  struct Queues {
    bool empty() const { return ordinary.empty() && greedy.empty(); }
    List<hook> ordinary;
    List<hook> greedy;  // their last turn ended before their input did
  };

  ConnectionHost(const Clock& clock, RoundHooks& hooks);
  ~ConnectionHost() = default;

  template <typename L>
  static void Link(L& list, Connection& connection, Connection::Hook& hook) {
    if (!hook.is_linked()) list.push_back(connection);
  }

  void Queue(List<&Connection::run_hook>& queue, Connection& connection) {
    if (connection.run_hook.is_linked()) return;
    ++queued_;
    queue.push_back(connection);
  }

  const Clock& clock_;
  RoundHooks& hooks_;
  std::vector<char> read_buffer_;
  AccessRules access_;
  ServerLimits limits_;
  std::size_t most_unread_output_ = 80 << 20;
  RefusalCounts refusals_;
  OnOperatorAct on_operator_act_;
  Queues<&Connection::dirty_hook> dirty_;  // have something to send
  List<&Connection::held_hook> held_;      // wait for the journal before they may send
  Queues<&Connection::run_hook> run_;      // have input to run
  List<&Connection::leave_hook> leaving_;  // are over or about to be, but not out of the engine
  List<&Connection::frozen_hook> asleep_;  // had something to read while frozen
  List<&Connection::undecided_hook> undecided_;  // by time: their first word is incomplete
  TurnShare share_;
  std::size_t queued_ = 0;    // in run_
  std::size_t turns_ = 0;     // in this round
  std::size_t events_ = 0;    // that libevent had when it was asked last
  bool backlog_ = false;      // this round left somebody waiting to be accepted
  int handshakes_ = 0;        // in this round
  Time first_handshake_ = 0;  // of this round, by RoundHooks::Fresh
  Time round_began_ = 0;      // by RoundHooks::Fresh
  bool in_time_ = true;       // this round may still read
  bool in_round_ = false;
  bool frozen_ = false;
  bool by_routers_ = false;  // they hold the sockets
  std::uint64_t received_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t stalls_ = 0;
  std::size_t stalled_ = 0;
};

}  // namespace gearstalk
