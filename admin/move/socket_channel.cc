#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "admin/move/channel.h"
#include "broker/base/descriptor.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

Status Failed(const std::string& what, const Address& address, int error) {
  return {Code::kIo, fmt::format("{} {}: {}", what, address.text, std::strerror(error))};
}

// One call of the system, or of OpenSSL.
struct Step {
  Status status{};
  std::size_t bytes = 0;
  short waits = 0;  // POLLIN or POLLOUT: nothing happened, and what it waits for
};

// Its descriptor never blocks.
class SocketChannel : public Channel {
 public:
  SocketChannel(Descriptor fd, Address address)
      : fd_(std::move(fd)), address_(std::move(address)) {}

  // A server may read nothing until what it has sent is read, so that is read meanwhile.
  Status Write(std::string_view bytes) final {
    while (!bytes.empty()) {
      const Step step = Send(bytes);
      GS_TRY(step.status);
      bytes.remove_prefix(step.bytes);
      if (step.waits == 0) continue;
      const short ready = GS_TRY(Await(static_cast<short>(step.waits | POLLIN)));
      if ((ready & POLLIN) != 0) GS_TRY(Receive(early_).status);
    }
    return {};
  }

  // Does not wait again after a record of TLS without data, such as a session ticket.
  Status Read(std::string& bytes, int timeout_ms) final {
    if (!early_.empty()) {
      bytes += std::exchange(early_, {});
      return {};
    }
    for (;;) {
      const Step step = Receive(bytes);
      GS_TRY(step.status);
      if (step.waits == 0) return {};
      const Result<short> ready = WaitFor(step.waits, timeout_ms);
      if (!ready.ok()) return ready.status();
    }
  }

  std::string Name() const override { return address_.text; }
  int fd() const override { return fd_; }

 protected:
  virtual Step Send(std::string_view bytes) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) return {.bytes = static_cast<std::size_t>(sent)};
    if (errno == EAGAIN) return {.waits = POLLOUT};
    return {Failed("sending to", address_, errno)};
  }

  // Appends what there is.
  virtual Step Receive(std::string& bytes) {
    char buffer[kReadAtOnce];
    const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
    if (got > 0) {
      bytes.append(buffer, static_cast<std::size_t>(got));
      return {};
    }
    if (got == 0) return {Hangup()};
    if (errno == EAGAIN) return {.waits = POLLIN};
    return {Failed("reading from", address_, errno)};
  }

  Status Hangup() const { return {Code::kIo, address_.text + " closed the connection"}; }

  // Which of `events` has come. kNotFound: none came in time.
  Result<short> WaitFor(short events, int timeout_ms) const {
    pollfd each{.fd = fd_, .events = events, .revents = 0};
    int ready = 0;
    do {
      ready = ::poll(&each, 1, timeout_ms);
    } while (ready < 0 && errno == EINTR);
    if (ready > 0) return each.revents;
    if (ready == 0) return Status(Code::kNotFound, address_.text + " is silent");
    return Failed("waiting for", address_, errno);
  }

  // The same, but that none comes is an error.
  Result<short> Await(short events) const {
    Result<short> ready = WaitFor(events, kSilenceMs);
    if (ready.ok() || ready.status().code() != Code::kNotFound) return ready;
    return Status(Code::kIo, ready.status().message());
  }

  static constexpr std::size_t kReadAtOnce = 64 * 1024;

  const Descriptor fd_;
  const Address address_;

 private:
  std::string early_;  // came while something was sent
};

// OpenSSL would leave an error in its queue for a host name that is given to it as an IP address.
bool IsIpAddress(const char* host) {
  in6_addr address{};
  return ::inet_pton(AF_INET, host, &address) == 1 || ::inet_pton(AF_INET6, host, &address) == 1;
}

std::string TlsError() {
  char text[256];
  ERR_error_string_n(ERR_get_error(), text, sizeof text);
  return text;
}

class TlsChannel final : public SocketChannel {
 public:
  TlsChannel(Descriptor fd, Address address) : SocketChannel(std::move(fd), std::move(address)) {}
  ~TlsChannel() override {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }

  Status Start(const Target& target) {
    context_ = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
    const bool trusted = target.tls_ca.empty() ? SSL_CTX_set_default_verify_paths(context_) == 1
                                               : SSL_CTX_load_verify_locations(
                                                     context_, target.tls_ca.c_str(), nullptr) == 1;
    if (!trusted) return {Code::kInvalid, "--tls-ca " + target.tls_ca + ": " + TlsError()};
    if (!target.tls_certificate.empty()) {
      const std::string& key = target.tls_key.empty() ? target.tls_certificate : target.tls_key;
      if (SSL_CTX_use_certificate_chain_file(context_, target.tls_certificate.c_str()) != 1 ||
          SSL_CTX_use_PrivateKey_file(context_, key.c_str(), SSL_FILETYPE_PEM) != 1) {
        return {Code::kInvalid, "--tls-certificate " + target.tls_certificate + ": " + TlsError()};
      }
    }
    ssl_ = SSL_new(context_);
    SSL_set_fd(ssl_, fd_);
    SSL_clear_mode(ssl_, SSL_MODE_AUTO_RETRY);
    SSL_set_mode(ssl_, SSL_MODE_ENABLE_PARTIAL_WRITE);
    SSL_set_tlsext_host_name(ssl_, address_.host.c_str());
    const char* const host = address_.host.c_str();
    if (IsIpAddress(host)) {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), host);
    } else if (!address_.host.empty()) {
      SSL_set1_host(ssl_, host);
    }
    return Handshake();
  }

 private:
  Status Handshake() {
    for (;;) {
      ERR_clear_error();
      const int done = SSL_connect(ssl_);
      if (done == 1) return {};
      const short waits = WaitsFor(done);
      if (waits == 0) return {Code::kIo, "TLS with " + address_.text + ": " + Problem()};
      GS_TRY(StatusOf(Await(waits)));
    }
  }

  Step Send(std::string_view bytes) override {
    ERR_clear_error();
    std::size_t sent = 0;
    const int done = SSL_write_ex(ssl_, bytes.data(), bytes.size(), &sent);
    if (done == 1) return {.bytes = sent};
    if (const short waits = WaitsFor(done); waits != 0) return {.waits = waits};
    return {Status(Code::kIo, "sending to " + address_.text + ": " + Problem())};
  }

  Step Receive(std::string& bytes) override {
    ERR_clear_error();
    const std::size_t before = bytes.size();
    bytes.resize(before + kReadAtOnce);
    std::size_t got = 0;
    const int done = SSL_read_ex(ssl_, bytes.data() + before, kReadAtOnce, &got);
    bytes.resize(before + got);
    if (done == 1) return {};
    if (const short waits = WaitsFor(done); waits != 0) return {.waits = waits};
    // The broker's reason, such as a certificate that it wants.
    if (ERR_peek_error() != 0) return {Status(Code::kIo, address_.text + ": " + TlsError())};
    return {Hangup()};
  }

  // What a call of OpenSSL waits for; 0: it failed.
  short WaitsFor(int done) const {
    switch (SSL_get_error(ssl_, done)) {
      case SSL_ERROR_WANT_READ:
        return POLLIN;
      case SSL_ERROR_WANT_WRITE:
        return POLLOUT;
      default:
        return 0;
    }
  }

  std::string Problem() const {
    const long verified = SSL_get_verify_result(ssl_);
    if (verified != X509_V_OK) return X509_verify_cert_error_string(verified);
    return ERR_peek_error() == 0 ? "it closed the connection" : TlsError();
  }

  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
};

Result<Descriptor> ConnectUnix(const Address& address) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (address.path.size() >= sizeof name.sun_path) {
    return Status(Code::kInvalid, address.text + ": the path is too long");
  }
  std::memcpy(name.sun_path, address.path.data(), address.path.size());
  Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd >= 0 && ::connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0) return fd;
  return Failed("connecting to", address, errno);
}

Result<Descriptor> ConnectTcp(const Address& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (failed != 0) {
    return Status(Code::kIo, fmt::format("{}: {}", address.text, ::gai_strerror(failed)));
  }
  int error = ECONNREFUSED;
  Descriptor fd;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    fd = Descriptor(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd >= 0 && ::connect(fd, each->ai_addr, each->ai_addrlen) == 0) break;
    error = errno;
    fd = Descriptor();
  }
  ::freeaddrinfo(found);
  if (fd < 0) return Failed("connecting to", address, error);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

}  // namespace

Result<std::unique_ptr<Channel>> Connect(const Target& target) {
  Address address = GS_TRY(Address::Parse(target.address));
  Descriptor fd = GS_TRY(address.host.empty() ? ConnectUnix(address) : ConnectTcp(address));
  if (::fcntl(fd, F_SETFL, O_NONBLOCK) != 0) return Failed("connecting to", address, errno);
  if (!target.tls) {
    return std::unique_ptr<Channel>(
        std::make_unique<SocketChannel>(std::move(fd), std::move(address)));
  }
  auto channel = std::make_unique<TlsChannel>(std::move(fd), std::move(address));
  GS_TRY(channel->Start(target));
  return std::unique_ptr<Channel>(std::move(channel));
}

}  // namespace gearstalk::ctl
