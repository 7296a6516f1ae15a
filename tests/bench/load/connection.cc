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
  loop_.Add(fd_, this);
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
  const ssize_t count = recv(fd_, scratch, Loop::kScratchBytes, 0);
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
  const ssize_t count = send(fd_, unsent_.data() + sent_, unsent_.size() - sent_, MSG_NOSIGNAL);
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
