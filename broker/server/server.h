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
#include "broker/server/time_wheel.h"
#include "broker/server/tls.h"

namespace gearstalk {

// What has to be done beside the connections; called on the loop's thread.
class Work {
 public:
  // Does what is due and says when to call again.
  virtual Time Tick(Time now) = 0;
  // All commands of this round were run: what they changed goes to the journal.
  virtual void EndRound(Time now) = 0;
  // Replies up to here may leave.
  virtual Lsn Durable() const = 0;
  // The journal lags so far behind that those who wait for it should not be read from.
  virtual bool Behind() const = 0;

 protected:
  ~Work() = default;
};

// The loop and everything on it. It turns in rounds: read what there is and run it, do what is due,
// then send each connection's replies with one write.
class Server final : public ConnectionList {
 public:
  // The most that is read from one connection before others get their turn, in bytes, besides the
  // body of a job.
  static constexpr std::size_t kReadSize = 128 * 1024;
  // In one round: how many connections are sent to, or end, and how much is sent, in bytes. The
  // others come first in the next.
  static constexpr std::size_t kRoundFlushes = 256;
  static constexpr std::uint64_t kRoundSent = 4 << 20;
  Server(EventLoop& loop, SystemClock& clock, Work& work);
  ~Server();

  // For connections that are there, too.
  void SetLimits(const ServerLimits& limits);
  const ServerLimits& limits() const { return limits_; }
  // For connections to come; nullptr: no TLS. Set it before listening where TLS is required.
  void SetTls(std::shared_ptr<const TlsContext> tls);
  const std::shared_ptr<const TlsContext>& tls() const { return tls_; }
  // For connections that are there, too.
  void SetAccess(AccessRules rules);

  // Output, in bytes, at which a peer that is sent the results of others and reads none of them is
  // cut off. Several times the largest message.
  void set_hopeless_output(std::size_t bytes) { hopeless_output_ = bytes; }
  std::size_t hopeless_output() const { return hopeless_output_; }

  // Listens; every connection there may speak any of `protocols`, which outlive the server. Returns
  // the name of the address, with the port that was taken.
  Result<std::string> Listen(const ListenAddress& address, std::vector<Protocol*> protocols);
  Result<std::string> Listen(std::unique_ptr<ListenSocket> socket,
                             std::vector<Protocol*> protocols);

  // Turns until Stop. Then accepts nobody, sends what is waiting, for limits().stop_timeout at
  // most, and returns.
  void Run();
  // Asked again while it sends what is waiting, it returns at once.
  void Stop() { hurry_ = std::exchange(stopping_, true); }
  // One round; it waits until `until` at most for something to do.
  void Turn(Time until);

  // Calls `handler` in the round in which `fd` gets readable. It must outlive the server.
  void Watch(int fd, std::function<void()>& handler);
  // The journal has got on: replies that waited for it may leave.
  void OnDurable();
  // The journal will not get on, for good or until the disk has space. Connections that wait for it
  // at the end of the round, or for good of every round, are closed: so their clients know that
  // nobody knows.
  void AbandonHeld(bool for_good);

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
  EventLoop& loop() { return loop_; }
  Time Now() const { return clock_.Now(); }
  Lsn Durable() const { return work_.Durable(); }
  bool Behind() const { return work_.Behind(); }
  std::span<char> read_buffer() { return read_buffer_; }
  std::span<char> tls_buffer() { return tls_buffer_; }
  // Every callback of the loop calls it first: the first one of a round reads the clock.
  void BeginRound();
  void NoteDirty(Connection& connection) { Link(dirty_, connection, connection.dirty_hook); }
  void NoteHeld(Connection& connection) { Link(held_, connection, connection.held_hook); }
  void RunLater(Connection& connection) { Link(run_, connection, connection.run_hook); }
  void NoteUndecided(Connection& connection);
  void CountReceived(std::size_t bytes) { received_ += bytes; }
  void CountSent(std::size_t bytes) { sent_ += bytes; }
  void CountStall() { ++stalls_; }
  void NoteStalled(bool stalled) { stalled ? ++stalled_ : --stalled_; }
  // Counts it and tells the log.
  void Refuse(Refusal refusal, const Peer& peer, std::string_view error = {});
  // Its TLS handshake is done.
  void OnSecured(Connection& connection);

 private:
  template <Connection::Hook Connection::*hook>
  using List =
      boost::intrusive::list<Connection,
                             boost::intrusive::member_hook<Connection, Connection::Hook, hook>,
                             boost::intrusive::constant_time_size<false>>;

  struct Gate {
    Server& server;
    std::unique_ptr<ListenSocket> socket;
    ListenAddress address;
    std::vector<Protocol*> protocols;
    Event readable;
  };

  template <typename L>
  static void Link(L& list, Connection& connection, Connection::Hook& hook) {
    if (!hook.is_linked()) list.push_back(connection);
  }

  struct Watched {
    Server& server;
    std::function<void()>& handler;
    Event readable;
  };

  void Accept(Gate& gate);
  void Welcome(Gate& gate, Peer peer);
  void PauseAccepting(int error);
  void GoOnAccepting();
  void EndRound();
  void RunQueued();
  void FlushDirty();
  void CloseHeld();
  void CloseUndecided();
  void CloseIdle();
  void Close(Connection& connection);
  void CloseLeaving();
  void SendRest();

  EventLoop& loop_;
  SystemClock& clock_;
  Work& work_;
  std::vector<char> read_buffer_;
  std::vector<char> tls_buffer_;  // for what is still to be decrypted
  std::shared_ptr<const TlsContext> tls_;
  AccessRules access_;
  std::vector<std::unique_ptr<Gate>> gates_;
  std::vector<std::unique_ptr<Watched>> watched_;
  // By descriptor; free descriptors are empty places.
  std::vector<std::unique_ptr<Connection>> connections_;
  ServerLimits limits_;
  std::size_t room_;  // connections that descriptors allow, some left for the journal and others
  Admission admission_;
  RefusalCounts refusals_;
  List<&Connection::dirty_hook> dirty_;          // have something to send
  List<&Connection::held_hook> held_;            // wait for the journal before they may send
  List<&Connection::run_hook> run_;              // have input to run
  List<&Connection::leave_hook> leaving_;        // are over, but not out of the engine
  List<&Connection::undecided_hook> undecided_;  // by time: their first word is incomplete
  TimeWheel<Connection, Connection::Hook, &Connection::idle_hook> idle_;  // with an idle timeout
  std::size_t hopeless_output_ = 256 << 20;
  bool in_round_ = false;
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
