#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/descriptor.h"
#include "broker/server/event_loop.h"
#include "broker/server/tls_stream.h"
#include "broker/server/transport.h"

namespace gearstalk {

// Reports peers that hang up or reset their connection while nothing is read from them. libevent
// cannot: it reports an error only for events of reading or writing, and epoll then never waits
// again. So these descriptors are in an epoll instance of their own, each for one report.
class HangUps {
 public:
  explicit HangUps(EventLoop& loop);

  void Watch(int fd, TransportEvents& events);
  void Forget(int fd);

 private:
  void Report();

  const Descriptor epoll_;
  Event readable_;
};

// What the transports of one loop share. Outlives them.
class SocketContext {
 public:
  explicit SocketContext(EventLoop& loop) : loop_(loop), hang_ups_(loop) {}

  EventLoop& loop() { return loop_; }
  HangUps& hang_ups() { return hang_ups_; }
  // Of handshakes to come; nullptr: no TLS.
  void SetTls(std::shared_ptr<const TlsContext> tls);
  const std::shared_ptr<const TlsContext>& tls() const { return tls_; }
  // Space for what is still to be decrypted.
  std::span<char> encrypted() { return encrypted_; }

 private:
  static constexpr std::size_t kReadSize = 128 * 1024;

  EventLoop& loop_;
  HangUps hang_ups_;
  std::shared_ptr<const TlsContext> tls_;
  std::vector<char> encrypted_;
};

// A client's socket, with TLS where the client begins with it. Closes it at the end.
class SocketTransport final : public Transport {
 public:
  SocketTransport(SocketContext& context, int fd, TlsUse tls, TransportEvents& events);
  ~SocketTransport() override;
  SocketTransport(const SocketTransport&) = delete;
  SocketTransport& operator=(const SocketTransport&) = delete;

  Received Read(std::span<char> body, std::span<char> buffer, std::size_t most) override;
  Failure failure() const override;
  ssize_t Write(iovec* pieces, int count) override;
  Flushed Flush(bool last) override;
  std::size_t pending() const override { return tls_ == nullptr ? 0 : tls_->pending().size(); }
  void End() override;
  void SetReading(Reading reading) override;
  void Mute(bool muted) override;
  void WatchWriting(bool watched) override;
  bool handshaking() const override;
  bool shakes() const override { return tls_ == nullptr ? waits_to_shake() : !tls_->open(); }
  bool waits_to_shake() const override;

 private:
  // kEither and kTlsOnly until the first byte has told. There is no stream before the client's
  // first record is whole.
  enum class Security : std::uint8_t { kPlain, kEither, kTlsOnly, kTls };

  Received ReadPlain(std::span<char> body, std::span<char> buffer);
  Received ReadFirst(std::span<char> buffer, std::size_t most);
  Received ReadTls(std::span<char> body, std::span<char> buffer);
  Received Begin(std::span<char> buffer);
  Received Decrypt(std::string_view received, std::span<char> body, std::span<char> buffer);
  ssize_t SendPending();

  SocketContext& context_;
  TransportEvents& events_;
  const int fd_;
  Event readable_;
  Event writable_;  // made when a peer reads slower than it is sent to
  std::unique_ptr<TlsStream> tls_;
  std::string hello_;  // the first record, until it is whole
  Security security_;
  bool opened_ = false;  // the handshake is done
};

}  // namespace gearstalk
