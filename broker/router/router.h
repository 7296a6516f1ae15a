#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/descriptor.h"
#include "broker/link/link_end.h"
#include "broker/link/payloads.h"
#include "broker/router/client_socket.h"
#include "broker/server/socket_transport.h"

namespace gearstalk {

// A process that holds clients' sockets for a broker: accepts, does TLS, reads and writes, and
// carries the bytes over a link. It knows no protocol. It ends with the link.
class Router {
 public:
  // Closes the descriptors at the end.
  Router(EventLoop& loop, SystemClock& clock, link::LinkEnd link, std::vector<int> listeners);
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  // Until the link ends.
  void Run();
  // One round, which waits until `until` at most. False: the link has ended.
  bool Turn(Time until);
  // Sends also what may wait.
  void SendNow();

  // --- For its clients
  SocketContext& sockets() { return sockets_; }
  link::LinkEnd& link() { return link_; }
  std::span<char> buffer() { return buffer_; }
  void Send(std::uint32_t stream, link::Kind kind, std::string_view payload) {
    link_.Add(stream, kind, payload);
  }
  // With what is sent next, or in a moment.
  void SendLater(std::uint32_t stream, link::Kind kind, std::string_view payload);
  void NoteDirty(ClientSocket& client);
  // Its handshake is under way.
  void NoteHandshake(ClientSocket& client);
  // It is closing, and what is left is to be sent; again when some of it was.
  void NoteClosing(ClientSocket& client);
  // Whether this round has time for one more step of a handshake.
  bool TakeHandshake() { return steps_++ < kRoundHandshakes; }
  void ShakeLater(ClientSocket& client);
  void CountReceived(std::size_t bytes) { counters_.received_bytes += bytes; }
  void CountSent(std::size_t bytes) { counters_.sent_bytes += bytes; }
  void CountHandshake() { ++counters_.handshakes; }

 private:
  template <ClientSocket::Hook ClientSocket::*hook>
  using List =
      boost::intrusive::list<ClientSocket,
                             boost::intrusive::member_hook<ClientSocket, ClientSocket::Hook, hook>,
                             boost::intrusive::constant_time_size<false>>;

  // Steps of handshakes in one round, each some tenths of a millisecond.
  static constexpr int kRoundHandshakes = 4;

  void OnLink();
  bool Handle(const link::Frame& frame);
  bool HandleOfLink(const link::Frame& frame);
  bool Reload(std::string_view payload);
  void Listen(bool listens);
  void Accept();
  void AcceptFrom(std::size_t listener);
  void Welcome(std::size_t listener, int fd, std::string_view address, std::uint16_t port);
  void PauseAccepting(int error);
  void EndRound();
  void Shake();
  void FlushDirty();
  void CloseOverdue();
  Time NextDue() const;
  void WaitForLink();

  EventLoop& loop_;
  SystemClock& clock_;
  SocketContext sockets_;
  link::LinkEnd link_;
  std::vector<int> listeners_;
  const Descriptor accepting_;  // an epoll instance of the listeners
  Event acceptable_, readable_;
  link::Settings settings_;
  link::Counters counters_;
  std::vector<char> buffer_;
  std::vector<std::unique_ptr<ClientSocket>> clients_;  // by number
  std::vector<std::uint32_t> free_;                     // numbers
  std::size_t count_ = 0;
  List<&ClientSocket::dirty_hook> dirty_;         // have something to send
  List<&ClientSocket::shaking_hook> shaking_;     // wait for a step of their handshake
  List<&ClientSocket::waiting_hook> handshakes_;  // by time
  List<&ClientSocket::waiting_hook> closing_;     // by time
  int steps_ = 0;                                 // of handshakes, in this round
  Time accept_again_ = kNever;                    // accepting is paused until then
  Time send_at_ = kNever;                         // the latest time for what may wait
  bool over_ = false;
};

// What main() does as a router: `argv` is the process's. Returns the exit code.
int RunAsRouter(int argc, char** argv);

}  // namespace gearstalk
