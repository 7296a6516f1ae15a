// A connection that speaks TLS, or may begin to.

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "broker/base/log.h"
#include "broker/server/connection.h"
#include "broker/server/server.h"

namespace gearstalk {
namespace {

ssize_t SendPending(int fd, TlsStream& tls) {
  const std::string_view pending = tls.pending();
  const ssize_t sent = send(fd, pending.data(), pending.size(), MSG_NOSIGNAL);
  if (sent > 0) tls.Sent(static_cast<std::size_t>(sent));
  return sent;
}

std::size_t ReadAll(TlsStream& tls, std::span<char> space) {
  std::size_t size = 0;
  while (const std::size_t got = tls.Read(space.subspan(size))) size += got;
  return size;
}

}  // namespace

void Connection::ExpectTls(bool required) {
  security_ = required ? Security::kTlsOnly : Security::kEither;
  if (required) server_.NoteUndecided(*this);
}

void Connection::ReceiveSecurely(std::span<char> body) {
  if (tls_ != nullptr && !tls_->open() && !server_.TakeHandshake()) {
    unread_ = true;
    return server_.RunLater(*this);
  }
  const std::span<char> buffer = server_.tls_buffer();
  const ssize_t got = recv(peer_.fd, buffer.data(), buffer.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got < 0) return Break();
  if (got == 0) return OnEof();
  const std::string_view received(buffer.data(), static_cast<std::size_t>(got));
  server_.CountReceived(received.size());
  active_at_ = server_.Now();
  if (security_ != Security::kTls && !DecideSecurity(received.front())) return;
  if (security_ != Security::kTls) return OnReceived(received);
  tls_ == nullptr ? ReceiveHello(received) : ReceiveTls(received, body);
}

// A stream costs tens of kilobytes: a client gets one when its first record is whole. A reload may
// have ended TLS since its first byte.
void Connection::ReceiveHello(std::string_view received) {
  if (eof_ || server_.tls() == nullptr) return Break();
  input_.Append(received);
  if (input_.size() < TlsStream::SizeOfRecord(input_.view())) return;
  if (!server_.TakeHandshake()) return server_.RunLater(*this);
  tls_ = std::make_unique<TlsStream>(server_.tls());
  const std::string hello(input_.view());
  input_.Assign({});
  ReceiveTls(hello, {});
}

// By its first byte; false if the peer is sent away.
bool Connection::DecideSecurity(char first) {
  if (first == TlsStream::kFirstByte && server_.tls() != nullptr) {
    security_ = Security::kTls;
    peer_.tls = true;
    server_.NoteUndecided(*this);
    return true;
  }
  if (security_ == Security::kTlsOnly) {
    server_.Refuse(Refusal::kTls, peer_, {.error = "plain text where TLS is required"});
    Break();
    return false;
  }
  security_ = Security::kPlain;
  return true;
}

void Connection::ReceiveTls(std::string_view received, std::span<char> body) {
  const bool was_open = tls_->open();
  tls_->Feed(received);
  if (!was_open && tls_->open()) server_.OnSecured(*this);
  const std::span<char> buffer = server_.read_buffer();
  const std::size_t filled = ReadAll(*tls_, body);
  const std::size_t left = body.empty() ? input_.size() : 0;
  std::memcpy(buffer.data(), input_.view().data(), left);
  const std::size_t size = ReadAll(*tls_, buffer.subspan(left));
  if (!tls_->pending().empty()) server_.NoteDirty(*this);
  if (tls_->failed()) return FailTls(was_open);
  if (filled > 0) router_.OnBody(filled);
  if (filled + size > 0) OnReceived({buffer.data(), left + size});
  if (tls_->ended() && !closing_ && !broken_) OnEof();
}

void Connection::FailTls(bool was_open) {
  if (was_open) {
    LogOfClient(LogLevel::kInfo, "TLS failed",
                {{"error", tls_->error()}, {"client", peer_.Name()}, {"connection", peer_.id}});
  } else {
    server_.Refuse(Refusal::kTls, peer_, {.error = tls_->error()});
  }
  CloseWhenSent();
}

// As send: how much of the pieces was taken. It may still lie in the stream; then the next call
// sends it first.
ssize_t Connection::SendTls(const iovec* pieces, int count) {
  if (!tls_->open()) {
    errno = EPIPE;
    return -1;
  }
  std::size_t taken = 0;
  bool full = !tls_->pending().empty();
  for (int i = 0; i < count && !full; ++i) {
    const std::string_view piece(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
    const std::size_t part = tls_->Write(piece);
    taken += part;
    full = part < piece.size() || taken >= TlsStream::kMaxWrite;
  }
  if (taken == 0 && tls_->pending().empty()) {
    errno = EPIPE;  // the stream has ended
    return -1;
  }
  const ssize_t sent = SendPending(peer_.fd, *tls_);
  return taken > 0 || sent >= 0 ? static_cast<ssize_t>(taken) : -1;
}

// Sends what lies in the stream. What Flush has to return if that is not all, or the stream is
// over.
std::optional<bool> Connection::FlushTls() {
  if (closing_ && out_.empty()) tls_->Close();
  while (!tls_->pending().empty()) {
    const ssize_t sent = SendPending(peer_.fd, *tls_);
    if (sent >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN) return false;
    WaitForSpace();
    return true;
  }
  if (tls_->failed()) return false;
  return std::nullopt;
}

// Best effort: the peer sees that nothing is missing.
void Connection::CloseTls() {
  tls_->Close();
  if (!tls_->pending().empty()) SendPending(peer_.fd, *tls_);
}

}  // namespace gearstalk
