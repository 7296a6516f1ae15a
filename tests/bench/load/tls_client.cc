#include "tests/bench/load/tls_client.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>

#include <cerrno>

#include "tests/bench/load/fail.h"

namespace gearstalk::bench {

namespace {

SSL_CTX* Context() {
  static SSL_CTX* const context = [] {
    SSL_CTX* made = SSL_CTX_new(TLS_client_method());
    if (made == nullptr) Fail("no TLS");
    SSL_CTX_set_mode(made, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return made;
  }();
  return context;
}

}  // namespace

void TlsClient::Free::operator()(SSL* ssl) const { SSL_free(ssl); }

TlsClient::TlsClient(int fd) : ssl_(SSL_new(Context())) {
  constexpr int kTimeoutMilliseconds = 60'000;
  SSL_set_fd(ssl_.get(), fd);
  for (;;) {
    const int done = SSL_connect(ssl_.get());
    if (done == 1) return;
    const int error = SSL_get_error(ssl_.get(), done);
    const bool writes = error == SSL_ERROR_WANT_WRITE;
    if (!writes && error != SSL_ERROR_WANT_READ) Fail("a TLS handshake failed");
    pollfd ready{.fd = fd, .events = static_cast<short>(writes ? POLLOUT : POLLIN), .revents = 0};
    if (poll(&ready, 1, kTimeoutMilliseconds) != 1) Fail("a TLS handshake got no answer");
  }
}

ssize_t TlsClient::Receive(char* data, size_t size) {
  return Result(SSL_read(ssl_.get(), data, static_cast<int>(size)));
}

ssize_t TlsClient::Send(const char* data, size_t size) {
  return Result(SSL_write(ssl_.get(), data, static_cast<int>(size)));
}

ssize_t TlsClient::Result(int returned) {
  if (returned > 0) return returned;
  const int error = SSL_get_error(ssl_.get(), returned);
  ERR_clear_error();
  if (error == SSL_ERROR_ZERO_RETURN) return 0;
  errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : EPROTO;
  return -1;
}

}  // namespace gearstalk::bench
