#pragma once

#include <algorithm>
#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/lsn.h"
#include "broker/base/status.h"
#include "broker/server/access_rules.h"
#include "broker/server/connection.h"
#include "broker/server/event_loop.h"
#include "broker/server/limits.h"
#include "broker/server/listener.h"
#include "broker/server/protocol.h"
#include "broker/server/refusal.h"
#include "broker/server/routers.h"
#include "broker/server/socket_transport.h"
#include "broker/server/time_wheel.h"
#include "broker/server/tls.h"

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

// The loop and everything on it. It turns in rounds: read what there is and run it, do what is due,
// then send each connection's replies with one write.
class Server final : public ConnectionList, private LinkHost {
 public:
  // The most that is read from one connection before others get their turn, in bytes, besides the
  // body of a job.
  static constexpr std::size_t kReadSize = 128 * 1024;
  // In one round: how many connections are sent to, or end, and how much is sent, in bytes. The
  // others come first in the next.
  static constexpr std::size_t kRoundFlushes = 256;
  static constexpr std::uint64_t kRoundSent = 4 << 20;
  // In one round, about: how much is read besides the bodies of jobs, in bytes.
  static constexpr std::size_t kRoundRead = 2 << 20;
  // How long a round accepts, reads and runs what arrives, runs what waits, and sends. What is left
  // comes in the next round, in the order in which it came. Running what waits and sending have
  // this time for ordinary connections and again for greedy ones (see Queues), which get a quarter
  // of it while ordinary ones still wait.
  static constexpr Time kAcceptTime = 2 * kMillisecond;
  static constexpr Time kReadTime = 2 * kMillisecond;
  static constexpr Time kRunTime = kMillisecond;
  static constexpr Time kSendTime = kMillisecond;
  // Turns of a round after which each of the following is given less.
  static constexpr std::size_t kTurnsOfAShare = 16;
  // With routers: turns of a round for which the clock is read once.
  static constexpr std::size_t kTurnsOfALook = 4;
  // In one round: steps of TLS handshakes, each some tenths of a millisecond of public-key
  // cryptography, or several with a long key. The first of a round is always done, the others while
  // there is time.
  static constexpr int kRoundHandshakes = 4;
  static constexpr Time kHandshakeTime = kMillisecond;
  // The loop woke so much later than it was asked to: before anything expires, what clients have
  // sent meanwhile is read, in so many rounds at most.
  static constexpr Time kLate = 50 * kMillisecond;
  static constexpr int kCatchUpRounds = 8;
  // In one round: how many connections an idle timeout looks at.
  static constexpr std::size_t kRoundIdle = 1024;

  Server(EventLoop& loop, const Clock& clock, RoundHooks& hooks);
  ~Server();

  // So many routers will hold the clients' sockets. Before Listen.
  void UseRouters(std::size_t count);
  // After Listen: returns when all of them serve.
  Status StartRouters();
  // nullptr: the server holds the sockets itself.
  Routers* routers() const { return routers_.get(); }

  // For connections that are there, too.
  void SetLimits(const ServerLimits& limits);
  const ServerLimits& limits() const { return limits_; }
  // For connections to come; nullptr: no TLS. Set it before listening where TLS is required.
  void SetTls(std::shared_ptr<const TlsContext> tls);
  const std::shared_ptr<const TlsContext>& tls() const { return sockets_.tls(); }
  // For connections that are there, too.
  void SetAccess(AccessRules rules);

  // A peer for which more bytes of unrequested results (Output::unasked) wait is cut off. Several
  // times the largest message.
  void set_most_unread_output(std::size_t bytes) { most_unread_output_ = bytes; }
  std::size_t most_unread_output() const { return most_unread_output_; }

  // Listens; every connection there may speak any of `protocols`, which outlive the server. Returns
  // the name of the address, with the port that was taken.
  Result<std::string> Listen(const ListenAddress& address, std::vector<Protocol*> protocols);
  Result<std::string> Listen(std::unique_ptr<ListenSocket> socket,
                             std::vector<Protocol*> protocols);

  // While frozen, the server reads, runs and sends nothing, accepts nobody, and enforces no
  // timeouts. The hooks and descriptors of OnReadable go on.
  void Freeze(bool frozen);
  // Closes every connection that there is, in slices, also while frozen.
  void CloseAll();
  // Drops every connection at once, with what was to be sent. Before the protocols are destroyed.
  void DropAll();
  // Refuses new connections: TCP clients are refused by the kernel, clients of a Unix socket get a
  // connection that ends at once, because a Unix socket cannot listen again.
  void StopListening();
  Status ListenAgain();
  // Closes the connection at descriptor `fd` if it still has this id. Its jobs go back in slices.
  bool Disconnect(int fd, std::uint64_t id);

  // Turns until Stop. Then accepts nobody, sends what is waiting, for limits().stop_timeout at
  // most, and returns.
  void Run();
  // A second call ends Run without sending what is waiting.
  void Stop() { hurry_ = std::exchange(stopping_, true); }
  // One round; it waits until `until` at most for something to do.
  void Turn(Time until);

  // Calls `handler` in the round in which `fd` gets readable. It must outlive the server.
  void OnReadable(int fd, std::function<void()>& handler);
  // The durable position advanced: releases held replies.
  void OnDurable();
  // The journal makes no progress until the disk has space, or `for_good`. Closes the connections
  // whose replies wait for it at the end of this round, or of every round: nobody can tell their
  // clients whether the changes are durable.
  void AbandonHeld(bool for_good);

  // Called with each act of an operator over a client's connection.
  using OnOperatorAct = std::function<void(const Peer& peer, const OperatorAct& act)>;
  void SetOnOperatorAct(OnOperatorAct hook) { on_operator_act_ = std::move(hook); }
  void NoteOperatorAct(const Peer& peer, const OperatorAct& act) const {
    if (on_operator_act_) on_operator_act_(peer, act);
  }

  // --- ConnectionList
  Entry Next(int fd) const override;
  std::size_t Count() const override { return admission_.count(); }
  std::uint64_t Total() const override { return total_; }

  std::uint64_t received_bytes() const { return received_; }
  std::uint64_t sent_bytes() const { return sent_; }
  // How often a peer's commands had to wait because ServerLimits::output was reached.
  std::uint64_t stalls() const { return stalls_; }
  // Connections whose commands wait until what was answered has left.
  std::size_t stalled() const { return stalled_; }
  std::size_t most_of_address() const { return admission_.most_of_network(); }
  // Connections that limits and descriptors allow.
  std::size_t most_connections() const {
    return limits_.connections == 0 ? room_ : std::min(limits_.connections, room_);
  }
  const RefusalCounts& refusals() const { return refusals_; }

  // --- For connections and events on the loop
  Time Now() const { return clock_.Now(); }
  Lsn Durable() const { return hooks_.Durable(); }
  bool Behind() const { return hooks_.Behind(); }
  bool MemoryFull() const { return hooks_.MemoryFull(); }
  bool MaySend() const { return !frozen_ && hooks_.MaySend(); }
  bool frozen() const { return frozen_; }
  std::span<char> read_buffer() { return read_buffer_; }
  // Every callback of the loop calls it first: the first one of a round reads the clock.
  void BeginRound() override;
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
  // Counts it and tells the log.
  void Refuse(Refusal refusal, const Peer& peer, const Refused& what = {});
  // Its rights are those of its address and certificate.
  void UpdateAccess(Connection& connection);

 private:
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

  struct Acceptor {
    Server& server;
    std::unique_ptr<ListenSocket> socket;
    ListenAddress address;
    std::vector<Protocol*> protocols;
    Event readable;
    enum class State : std::uint8_t { kOpen, kClosed, kTurnsAway } state = State::kOpen;
  };

  template <typename L>
  static void Link(L& list, Connection& connection, Connection::Hook& hook) {
    if (!hook.is_linked()) list.push_back(connection);
  }

  void Queue(List<&Connection::run_hook>& queue, Connection& connection) {
    if (connection.run_hook.is_linked()) return;
    ++queued_;
    queue.push_back(connection);
  }

  struct Watched {
    Server& server;
    std::function<void()>& handler;
    Event readable;
  };

  // --- LinkHost: server_routers.cc
  void OnOpen(RouterLink& link, std::uint32_t stream, const link::Open& open) override;
  bool MayWelcome() override;
  void OnNoDescriptors(std::string_view error) override;
  int TakePlace();
  void PauseRouters();

  void Accept(Acceptor& acceptor);
  Connection* Welcome(Acceptor& acceptor, Peer peer);
  // What the state of the server and of the descriptors says.
  void UpdateAccepting();
  void PauseAccepting(int error);
  void GoOnAccepting();
  void EndRound();
  // When something expires.
  Time NextDue() const;
  bool CatchingUp();
  void CloseOverdue();
  void WaitForEvents(Time until);
  // Whether more connections wait for a turn than this round had time for.
  bool hurried() const { return backlog_ || !run_.ordinary.empty(); }
  void RunQueued();
  void RunQueued(List<&Connection::run_hook>& queue, Time most);
  void FlushDirty();
  bool FlushDirty(List<&Connection::dirty_hook>& queue, Time most);
  void CloseHeld();
  void CloseUndecided();
  void CloseIdle();
  void Close(Connection& connection);
  void CloseLeaving();
  void SendRest();
  void SendRound();

  EventLoop& loop_;
  const Clock& clock_;
  RoundHooks& hooks_;
  SocketContext sockets_;
  std::vector<char> read_buffer_;
  AccessRules access_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::vector<std::unique_ptr<Watched>> watched_;
  std::unique_ptr<Routers> routers_;
  // By descriptor, or by a number of the server's own where routers hold the sockets. Free ones are
  // empty places.
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<int> free_places_;  // with routers
  ServerLimits limits_;
  std::size_t room_;  // connections that descriptors allow, some left for the journal and others
  Admission admission_;
  RefusalCounts refusals_;
  OnOperatorAct on_operator_act_;
  Queues<&Connection::dirty_hook> dirty_;  // have something to send
  List<&Connection::held_hook> held_;      // wait for the journal before they may send
  Queues<&Connection::run_hook> run_;      // have input to run
  List<&Connection::leave_hook> leaving_;  // are over or about to be, but not out of the engine
  List<&Connection::frozen_hook> asleep_;  // had something to read while frozen
  List<&Connection::undecided_hook> undecided_;  // by time: their first word is incomplete
  TimeWheel<Connection, Connection::Hook, &Connection::idle_hook> idle_;  // with an idle timeout
  std::size_t most_unread_output_ = 80 << 20;
  TurnShare share_;
  std::size_t queued_ = 0;    // in run_
  std::size_t turns_ = 0;     // in this round
  std::size_t events_ = 0;    // that libevent had when it was asked last
  bool backlog_ = false;      // this round left somebody waiting to be accepted
  int handshakes_ = 0;        // in this round
  Time first_handshake_ = 0;  // of this round, by RoundHooks::Fresh
  int catch_up_ = 0;          // rounds in which nothing expires yet
  Time round_began_ = 0;      // by RoundHooks::Fresh
  Time welcome_began_ = 0;    // when the first client of this round came over a link
  bool in_time_ = true;       // this round may still read
  bool in_round_ = false;
  bool frozen_ = false;
  bool stopping_ = false;
  bool hurry_ = false;
  enum class Abandon : std::uint8_t { kNone, kOnce, kAlways } abandon_ = Abandon::kNone;
  Time next_tick_ = 0;
  Time accept_again_ = kNever;  // accepting is paused until then
  Time look_for_idle_ = kNever;
  std::uint64_t total_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t stalls_ = 0;
  std::size_t stalled_ = 0;
};

}  // namespace gearstalk
