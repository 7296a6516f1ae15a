#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/status.h"
#include "broker/server/connection_host.h"
#include "broker/server/event_loop.h"
#include "broker/server/listener.h"
#include "broker/server/routers.h"
#include "broker/server/socket_transport.h"
#include "broker/server/time_wheel.h"
#include "broker/server/tls.h"

namespace gearstalk {

// The loop and everything on it. It turns in rounds: read what there is and run it, do what is due,
// then send each connection's replies with one write.
class Server final : public ConnectionHost, public ConnectionList, private LinkHost {
 public:
  // In one round: how many connections are sent to, or end. The others come first in the next.
  static constexpr std::size_t kRoundFlushes = 256;
  // How long a round accepts, runs what waits, and sends; what is left comes in the next. Running
  // what waits and sending have this time for ordinary connections and again for greedy ones (see
  // Queues), which get a quarter of it while ordinary ones still wait.
  static constexpr Time kAcceptTime = 2 * kMillisecond;
  static constexpr Time kRunTime = kMillisecond;
  static constexpr Time kSendTime = kMillisecond;
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
  // For connections to come; nullptr: no TLS. Set it before listening where TLS is required.
  void SetTls(std::shared_ptr<const TlsContext> tls);
  const std::shared_ptr<const TlsContext>& tls() const { return sockets_.tls(); }
  // For connections that are there, too.
  void SetAccess(AccessRules rules);

  // Listens; every connection there may speak any of `protocols`, which outlive the server. Returns
  // the name of the address, with the port that was taken.
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

  // Calls `handler` in the round in which `fd` gets readable.
  void OnReadable(int fd, std::function<void()> handler);
  // The durable position advanced: releases held replies.
  void OnDurable();
  // The journal makes no progress until the disk has space, or `for_good`. Closes the connections
  // whose replies wait for it at the end of this round, or of every round: nobody can tell their
  // clients whether the changes are durable.
  void AbandonHeld(bool for_good);

  // --- ConnectionList
  Entry Next(int fd) const override;
  std::size_t Count() const override { return admission_.count(); }
  std::uint64_t Total() const override { return total_; }

  // --- LinkHost, and what else comes from the loop
  void BeginRound() override { ConnectionHost::BeginRound(); }

  std::size_t most_of_address() const { return admission_.most_of_network(); }
  // Connections that limits and descriptors allow.
  std::size_t most_connections() const {
    return limits_.connections == 0 ? room_ : std::min(limits_.connections, room_);
  }

 private:
  struct Acceptor {
    void OnReadable() {
      server.BeginRound();
      server.Accept(*this);
    }

    Server& server;
    std::unique_ptr<ListenSocket> socket;
    ListenAddress address;
    std::vector<Protocol*> protocols;
    Event readable;
    enum class State : std::uint8_t { kOpen, kClosed, kTurnsAway } state = State::kOpen;
  };

  struct Watched {
    void OnReadable() {
      server.BeginRound();
      handler();
    }

    Server& server;
    std::function<void()> handler;
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
  void EndRound();
  // When something expires.
  Time NextDue() const;
  bool CatchingUp();
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
  SocketContext sockets_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;
  std::vector<std::unique_ptr<Watched>> watched_;
  std::unique_ptr<Routers> routers_;
  // By descriptor, or by a number of the server's own where routers hold the sockets. Free ones are
  // empty places.
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<int> free_places_;  // with routers
  std::size_t room_;  // connections that descriptors allow, some left for the journal and others
  Admission admission_;
  TimeWheel<Connection, Connection::Hook, &Connection::idle_hook> idle_;  // with an idle timeout
  int catch_up_ = 0;        // rounds in which nothing expires yet
  Time welcome_began_ = 0;  // when the first client of this round came over a link
  bool stopping_ = false;
  bool hurry_ = false;
  enum class Abandon : std::uint8_t { kNone, kOnce, kAlways } abandon_ = Abandon::kNone;
  Time next_tick_ = 0;
  Time accept_again_ = kNever;  // accepting is paused until then
  Time look_for_idle_ = kNever;
  std::uint64_t total_ = 0;
};

}  // namespace gearstalk
