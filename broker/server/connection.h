#pragma once

#include <boost/intrusive/list.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "broker/server/held_input.h"
#include "broker/server/output.h"
#include "broker/server/protocol.h"
#include "broker/server/protocol_switch.h"
#include "broker/server/transport.h"

namespace gearstalk {

class ConnectionHost;

// One client: reads what its transport has, lets the protocol switch run it, and gathers what is to
// be sent until the end of the round. Owned by the server.
//
//   reads ---the session waits, or much is unsent---> paused: only a hang-up is seen
//     |   <-----the engine, or the peer, goes on-----
//     | the peer's end
//     v
//   what was read still runs
//     |
//     v  CloseWhenSent, from everywhere
//   closing: its sessions leave the engine, the output leaves
//     |
//     v  Break, a lost transport, too much unread: from everywhere
//   over: Leave, in slices
//
// Memory: an idle connection keeps no buffers. Input that is not yet run is bounded by kMaxInput (a
// body under way lies in its job), output by ServerLimits::output for what its own commands answer.
class Connection final : public Wire, private TransportEvents {
 public:
  // Unread input of a session that waits, in bytes; beyond it the transport is left alone.
  static constexpr std::size_t kMaxInput = 64 * 1024;
  Connection(ConnectionHost& host, Peer peer, std::span<Protocol* const> protocols);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // --- Wire
  Output& out() override;
  const Peer& peer() const override { return peer_; }
  Time Now() const override;
  std::size_t MostUnasked() const override;
  TurnShare share() const override;
  void Resume() override;
  void RunSoon() override;
  void OnRefused(Refusal why, const Refused& what) override;
  void OnJobRefused(Code why, std::string_view tube) override;
  void OnCommand(std::string_view command, std::string_view about) override;
  void OnOperatorAct(const OperatorAct& act) override;

  // --- For the server
  // Begins to read. Before anything else.
  void Attach(std::unique_ptr<Transport> transport);
  TransportEvents& events() { return *this; }
  void set_access(std::shared_ptr<const Access> access) { peer_.access = std::move(access); }
  // There may be something to read.
  void Hear();
  // The server is no longer frozen.
  void Wake() { transport_->Mute(false); }
  // Runs input that was left over when the session had to wait or to let others go first.
  void Run();
  // Sends what may leave. False: the connection is over.
  bool Flush();
  // Nothing more is read; its sessions leave the engine, and it ends when everything has been sent.
  void CloseWhenSent();
  // Goes on with what CloseWhenSent began. False: call again.
  bool LeaveEngine() { return switch_.Leave(); }
  // Ends at the end of the round, whatever is to be sent.
  void Break();
  // It is over: nothing is read or sent any more. False: its sessions still have something in the
  // engine, or much was left to be sent; call again.
  bool Leave();
  bool broken() const { return broken_; }
  const Session* session() const { return switch_.Describing(); }
  std::string_view protocol() const { return switch_.protocol(); }
  bool sending() const { return unsent() > 0; }
  // Whether it owes the end of its handshake or first word; not while its input waits for us.
  bool undecided() const {
    if (transport_->handshaking()) return true;
    return switch_.owner() == nullptr && !input_.empty() && !stalled_ && !run_hook.is_linked();
  }
  // Whether nothing is under way but the peer's next word.
  bool Idle() const {
    return !waits_ && !run_hook.is_linked() && !held_hook.is_linked() && switch_.Idle();
  }
  // When the peer was last heard, or took something.
  Time active_at() const { return active_at_; }

  // Lists of the server that it stands in.
  using Hook = boost::intrusive::list_member_hook<
      boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
  Hook dirty_hook, run_hook, held_hook, undecided_hook, idle_hook, leave_hook, frozen_hook;
  Time undecided_since = 0;

 private:
  // --- TransportEvents
  void OnReadable() override;
  void OnHangUp() override;
  void OnWritable() override;
  void OnSecured(std::string certificate) override;

  void Receive(std::span<char> body);
  void OnReceived(std::string_view bytes);
  void OnFailed();
  void TakeTurn();
  // Sends what lies in the transport. What Flush has to return if that is not all.
  std::optional<bool> FlushTransport();

  // Bytes that the peer's side has not taken.
  std::size_t unsent() const { return out_.size() + transport_->pending(); }
  // Much waits for its turn to be sent: no more is read or run until then.
  bool Crowded() const;
  // Its sessions took some input: what comes next.
  void AfterInput(const InputResult& result);
  void OnEof();
  void WaitForSpace();
  void StopWaitingForSpace();
  // Whether more unrequested results wait than the peer may leave unread: counts the refusal, and
  // the connection has to end.
  bool LeavesTooMuchUnread() const;
  void Stall();
  void SetStalled(bool stalled);
  // Nothing is read, but a hang-up is seen.
  void PauseReading();
  // If there is room.
  void GoOnReading();

  ConnectionHost& host_;
  Peer peer_;
  Output out_;
  ProtocolSwitch switch_;
  HeldInput input_;
  std::unique_ptr<Transport> transport_;
  Time active_at_;
  bool writing_ = false;    // waits for the transport to take more
  bool stalled_ = false;    // no commands are run until the peer has read some
  bool unread_ = false;     // its transport is read when its turn comes
  bool unwatched_ = false;  // its transport is muted until its input has run
  bool waits_ = false;      // the session waits for the engine
  bool hung_up_ = false;    // the peer will send no more; what it sent may not be read yet
  bool eof_ = false;        // all that the peer sent was read
  bool closing_ = false;    // ends when the output has left
  bool broken_ = false;     // ends now
};

}  // namespace gearstalk
