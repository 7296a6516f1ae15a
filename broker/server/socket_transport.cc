#include "broker/server/socket_transport.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "broker/base/check.h"

namespace gearstalk {
namespace {

using Received = Transport::Received;
using Then = Transport::Received::Then;

// Of a call that returned `got` <= 0.
Received NothingBut(ssize_t got) {
  if (got == 0) return {.then = Then::kEnd};
  return {.then = errno == EAGAIN || errno == EINTR ? Then::kOpen : Then::kBroken};
}

std::size_t ReadAll(TlsStream& tls, std::span<char> space) {
  std::size_t size = 0;
  while (const std::size_t got = tls.Read(space.subspan(size))) size += got;
  return size;
}

// A small reply is one piece, and send costs less than sendmsg.
ssize_t Send(int fd, iovec* pieces, int count) {
  if (count == 1) return send(fd, pieces[0].iov_base, pieces[0].iov_len, MSG_NOSIGNAL);
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = static_cast<std::size_t>(count);
  return sendmsg(fd, &message, MSG_NOSIGNAL);
}

}  // namespace

void SocketContext::SetTls(std::shared_ptr<const TlsContext> tls) {
  tls_ = std::move(tls);
  encrypted_.resize(kReadSize);
}

SocketTransport::SocketTransport(SocketContext& context, int fd, TlsUse tls,
                                 TransportEvents& events)
    : context_(context), events_(events), fd_(fd), security_(Security::kPlain) {
  if (tls == TlsUse::kRequired) security_ = Security::kTlsOnly;
  if (tls == TlsUse::kAllowed && context.tls() != nullptr) security_ = Security::kEither;
}

SocketTransport::~SocketTransport() {
  SetReading(Reading::kOff);
  writable_.reset();
  close(fd_);
}

void SocketTransport::SetReading(Reading reading) {
  if (reading_ == reading) return;
  if (reading_ == Reading::kWatchClose) context_.hang_ups().Forget(fd_);
  reading_ = reading;
  readable_.reset();
  if (reading == Reading::kOff) return;
  if (reading == Reading::kWatchClose) return context_.hang_ups().Watch(fd_, events_);
  readable_ = context_.loop().OnReady<&TransportEvents::OnReadable>(fd_, EventLoop::Interest::kRead,
                                                                    events_);
  EventLoop::Enable(readable_);
}

void SocketTransport::Mute(bool muted) {
  if (reading_ == Reading::kOn) {
    muted ? EventLoop::Disable(readable_) : EventLoop::Enable(readable_);
  } else if (reading_ == Reading::kWatchClose && !muted) {
    SetReading(Reading::kOff);
    SetReading(Reading::kWatchClose);
  }
}

void SocketTransport::WatchWriting(bool watched) {
  if (writable_ == nullptr) {
    if (!watched) return;
    writable_ = context_.loop().OnReady<&TransportEvents::OnWritable>(
        fd_, EventLoop::Interest::kWrite, events_);
  }
  watched ? EventLoop::Enable(writable_) : EventLoop::Disable(writable_);
}

Received SocketTransport::Read(std::span<char> body, std::span<char> buffer, std::size_t most) {
  if (security_ == Security::kPlain) [[likely]]
    return ReadPlain(body, buffer.first(std::min(most, buffer.size())));
  if (security_ == Security::kTls) return ReadTls(body, buffer);
  return ReadFirst(buffer, most);
}

Received SocketTransport::ReadPlain(std::span<char> body, std::span<char> buffer) {
  std::array<iovec, 2> pieces{{{body.data(), body.size()}, {buffer.data(), buffer.size()}}};
  const ssize_t got =
      body.empty() ? recv(fd_, buffer.data(), buffer.size(), 0) : readv(fd_, pieces.data(), 2);
  if (got <= 0) return NothingBut(got);
  const auto size = static_cast<std::size_t>(got);
  const std::size_t filled = std::min(size, body.size());
  return {.body = filled, .rest = size - filled, .network = size};
}

// The first byte tells whether the client speaks TLS.
Received SocketTransport::ReadFirst(std::span<char> buffer, std::size_t most) {
  Received received = ReadPlain({}, buffer.first(std::min(most, buffer.size())));
  if (received.rest == 0) return received;
  if (buffer.front() == TlsStream::kFirstByte && context_.tls() != nullptr) {
    security_ = Security::kTls;
    hello_.assign(buffer.data(), received.rest);
    return {.network = received.network};
  }
  if (security_ == Security::kTlsOnly) return {.then = Then::kFailed};
  security_ = Security::kPlain;
  return received;
}

bool SocketTransport::handshaking() const {
  if (security_ == Security::kTls) return tls_ == nullptr || !tls_->open();
  return security_ == Security::kTlsOnly;
}

bool SocketTransport::waits_to_shake() const {
  return tls_ == nullptr && !hello_.empty() && hello_.size() >= TlsStream::SizeOfRecord(hello_);
}

Received SocketTransport::ReadTls(std::span<char> body, std::span<char> buffer) {
  if (waits_to_shake()) return Begin(buffer);
  const std::span<char> encrypted = context_.encrypted();
  const std::size_t room = body.size() + buffer.size() - kMaxRecord;
  const ssize_t got = recv(fd_, encrypted.data(), std::min(encrypted.size(), room), 0);
  if (got <= 0) return NothingBut(got);
  const std::string_view received(encrypted.data(), static_cast<std::size_t>(got));
  if (tls_ != nullptr) return Decrypt(received, body, buffer);
  hello_.append(received);
  return {.network = received.size()};
}

// A stream costs tens of kilobytes: a client gets one when its first record is whole. A reload may
// have ended TLS since its first byte.
Received SocketTransport::Begin(std::span<char> buffer) {
  if (context_.tls() == nullptr) return {.then = Then::kBroken};
  tls_ = std::make_unique<TlsStream>(context_.tls());
  const std::string hello = std::exchange(hello_, {});
  Received received = Decrypt(hello, {}, buffer);
  received.network = 0;  // counted when it arrived
  return received;
}

Received SocketTransport::Decrypt(std::string_view encrypted, std::span<char> body,
                                  std::span<char> buffer) {
  tls_->Feed(encrypted);
  if (!opened_ && tls_->open()) {
    opened_ = true;
    events_.OnSecured(tls_->ClientName());
  }
  Received received{.network = encrypted.size()};
  received.body = ReadAll(*tls_, body);
  received.rest = ReadAll(*tls_, buffer);
  received.answers = !tls_->pending().empty();
  if (tls_->ended()) received.then = Then::kEnd;
  if (!tls_->failed()) return received;
  return {.network = encrypted.size(), .answers = received.answers, .then = Then::kFailed};
}

Transport::Failure SocketTransport::failure() const {
  if (tls_ == nullptr) return {Refusal::kTls, "plain text where TLS is required"};
  if (opened_) return {std::nullopt, tls_->error()};
  return {Refusal::kTls, tls_->error()};
}

// With TLS, what was taken may still lie in the stream; then the next call sends it first.
ssize_t SocketTransport::Write(iovec* pieces, int count) {
  if (tls_ == nullptr) [[likely]]
    return Send(fd_, pieces, count);
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
  const ssize_t sent = SendPending();
  return taken > 0 || sent >= 0 ? static_cast<ssize_t>(taken) : -1;
}

ssize_t SocketTransport::SendPending() {
  const std::string_view pending = tls_->pending();
  const ssize_t sent = send(fd_, pending.data(), pending.size(), MSG_NOSIGNAL);
  if (sent > 0) tls_->Sent(static_cast<std::size_t>(sent));
  return sent;
}

Transport::Flushed SocketTransport::Flush(bool last) {
  if (tls_ == nullptr) return Flushed::kAll;
  if (last) tls_->Close();
  while (!tls_->pending().empty()) {
    if (SendPending() >= 0 || errno == EINTR) continue;
    return errno == EAGAIN ? Flushed::kSome : Flushed::kBroken;
  }
  return tls_->failed() ? Flushed::kBroken : Flushed::kAll;
}

void SocketTransport::End() {
  if (tls_ == nullptr) return;
  tls_->Close();
  if (!tls_->pending().empty()) SendPending();
}

HangUps::HangUps(EventLoop& loop) : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  GS_CHECK(epoll_ >= 0);
  readable_ = loop.OnReady<&HangUps::Report>(epoll_, EventLoop::Interest::kRead, *this);
  EventLoop::Enable(readable_);
}

void HangUps::Watch(int fd, TransportEvents& events) {
  epoll_event event{};
  event.events = EPOLLRDHUP | EPOLLONESHOT;
  event.data.ptr = &events;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
}

void HangUps::Forget(int fd) { epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr); }

void HangUps::Report() {
  std::array<epoll_event, 64> events{};
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    static_cast<TransportEvents*>(events[static_cast<std::size_t>(i)].data.ptr)->OnHangUp();
  }
}

}  // namespace gearstalk
