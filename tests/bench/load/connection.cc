#include "tests/bench/load/connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "tests/bench/load/fail.h"

namespace gearstalk::bench {

Connection::Connection(Loop& loop, const Endpoint& endpoint) : loop_(loop), endpoint_(endpoint) {
  Open();
}

Connection::~Connection() {
  loop_.Forget(this);
  close(fd_);
}

void Connection::Open() {
  fd_ = endpoint_.Connect();
  if (endpoint_.tls()) tls_ = std::make_unique<TlsClient>(fd_);
  loop_.Add(fd_, this);
}

ssize_t Connection::Read(char* data, size_t size) {
  return tls_ ? tls_->Receive(data, size) : recv(fd_, data, size, 0);
}

ssize_t Connection::Write(const char* data, size_t size) {
  return tls_ ? tls_->Send(data, size) : send(fd_, data, size, MSG_NOSIGNAL);
}

void Connection::Reconnect() {
  close(fd_);
  unread_.clear();
  unsent_.clear();
  sent_ = 0;
  watching_for_space_ = false;
  Open();
}

std::string& Connection::output() {
  if (!in_flush_list_) {
    in_flush_list_ = true;
    loop_.FlushSoon(this);
  }
  return unsent_;
}

void Connection::Receive(char* scratch) {
  const ssize_t count = Read(scratch, Loop::kScratchBytes);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count < 0) FailErrno("recv");
  if (count == 0) Fail("the server closed a connection");
  const std::string_view fresh(scratch, static_cast<size_t>(count));
  if (unread_.empty()) {
    const size_t used = OnInput(fresh);
    if (used < fresh.size()) unread_.assign(fresh.substr(used));
    return;
  }
  unread_.append(fresh);
  unread_.erase(0, OnInput(unread_));
}

void Connection::Flush() {
  in_flush_list_ = false;
  if (unsent_.empty()) return;
  const ssize_t count = Write(unsent_.data() + sent_, unsent_.size() - sent_);
  if (count < 0 && errno != EAGAIN) FailErrno("send");
  if (count > 0) sent_ += static_cast<size_t>(count);
  const bool rest = sent_ < unsent_.size();
  if (!rest) {
    unsent_.clear();
    sent_ = 0;
  }
  if (rest != watching_for_space_) {
    watching_for_space_ = rest;
    loop_.WatchForSpace(fd_, this, rest);
  }
}

}  // namespace gearstalk::bench
