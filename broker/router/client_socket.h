#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"
#include "broker/link/frame.h"
#include "broker/server/held_input.h"
#include "broker/server/socket_transport.h"

namespace gearstalk {

class Router;

// A client's socket, and its stream. What the socket has goes to the link at once, as far as the
// broker has given credit; what the link brings is sent at the end of the round, in one write.
//
// Its life: an accept makes it and tells the broker with OPEN. It is open until the socket or the
// broker ends. A broken socket is closed and told with RESET, and the broker answers with CLOSE. At
// CLOSE what is still to be sent is sent, the socket is closed, and CLOSE is the answer, which
// frees the number.
class ClientSocket final : private TransportEvents {
 public:
  ClientSocket(Router& router, std::uint32_t number, int fd, TlsUse tls);
  ClientSocket(const ClientSocket&) = delete;
  ClientSocket& operator=(const ClientSocket&) = delete;

  std::uint32_t number() const { return number_; }
  // There may be something to read.
  void Hear();

  // --- Frames of the broker. False: it makes no sense.
  bool OnData(std::string_view bytes);
  bool OnCredit(std::uint32_t granted);
  bool OnClose(bool ends_well);

  // Sends what the round has brought; the end of the round. False: the stream is over.
  bool Flush();
  // Bytes that the broker does not know as delivered.
  std::uint32_t undelivered() const { return static_cast<std::uint32_t>(delivered_); }
  bool handshaking() const { return transport_ != nullptr && transport_->handshaking(); }
  // The handshake takes too long.
  void GiveUp();
  // It is closing, and the client does not take what is left.
  void Abandon();

  // Lists of the router that it stands in.
  using Hook = boost::intrusive::list_member_hook<
      boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
  Hook dirty_hook, shaking_hook, waiting_hook;
  Time waits_since = 0;  // in the list of waiting_hook

 private:
  bool HearFrame();
  // --- TransportEvents
  void OnReadable() override { Hear(); }
  void OnHangUp() override;
  void OnWritable() override;
  void OnSecured(std::string certificate) override;

  void Fail(Transport::Received::Then how);
  void Break();
  void Wait();
  bool SendAll(std::size_t& sent);
  void Drop();
  void Report();

  Router& router_;
  const std::uint32_t number_;
  std::unique_ptr<SocketTransport> transport_;  // nullptr: it is closed
  std::int64_t credit_ = link::kWindow;         // bytes that may go to the broker
  std::size_t granted_ = link::kWindow;         // bytes that may come from it
  std::size_t delivered_ = 0;                   // and not yet reported
  std::vector<std::string_view> fresh_;         // what came in this round, in the link's memory
  HeldInput out_;                               // what came before it
  bool flows_ = false;                          // a body is being sent, and the client takes it
  bool writing_ = false;                        // waits for the socket to take more
  bool ended_ = false;                          // the client has sent everything
  bool hung_up_ = false;                        // and was told to the broker
  bool closing_ = false;                        // CLOSE has come
  bool ends_well_ = false;
};

}  // namespace gearstalk
