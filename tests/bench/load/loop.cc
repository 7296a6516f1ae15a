#include "tests/bench/load/loop.h"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "tests/bench/load/clock.h"
#include "tests/bench/load/connection.h"
#include "tests/bench/load/fail.h"

namespace gearstalk::bench {

Loop::Loop()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)), now_(Now()), scratch_(new char[kScratchBytes]) {
  if (epoll_ < 0) FailErrno("epoll_create1");
  prctl(PR_SET_TIMERSLACK, 1);
}

Loop::~Loop() { close(epoll_); }

void Loop::Add(int fd, Connection* connection) {
  epoll_event event{.events = EPOLLIN, .data = {.ptr = connection}};
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) FailErrno("epoll_ctl");
}

void Loop::WatchForSpace(int fd, Connection* connection, bool wanted) {
  const uint32_t events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN;
  epoll_event event{.events = events, .data = {.ptr = connection}};
  if (epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) != 0) FailErrno("epoll_ctl");
}

void Loop::Forget(const Connection* connection) { std::erase(unsent_, connection); }

void Loop::RunRound(int64_t deadline) {
  Wait(deadline);
  LetObserversAct();
  FlushAll();
}

void Loop::Wait(int64_t deadline) {
  constexpr int kMaxEvents = 256;
  std::array<epoll_event, kMaxEvents> events;
  const int64_t left = std::max<int64_t>(deadline - Now(), 0);
  const timespec timeout{.tv_sec = left / kSecond, .tv_nsec = left % kSecond};
  const int count = epoll_pwait2(epoll_, events.data(), kMaxEvents, &timeout, nullptr);
  if (count < 0 && errno != EINTR) FailErrno("epoll_pwait2");
  now_ = Now();
  for (int i = 0; i < count; ++i) {
    auto* connection = static_cast<Connection*>(events[static_cast<size_t>(i)].data.ptr);
    const uint32_t ready = events[static_cast<size_t>(i)].events;
    if ((ready & EPOLLOUT) != 0) connection->Flush();
    if ((ready & ~static_cast<uint32_t>(EPOLLOUT)) != 0) connection->Receive(scratch_.get());
  }
}

void Loop::LetObserversAct() {
  const size_t count = observers_.size();
  if (count == 0) return;
  first_observer_ = (first_observer_ + 1) % count;
  for (size_t i = first_observer_; i < count; ++i) observers_[i]->OnRound(now_);
  for (size_t i = 0; i < first_observer_; ++i) observers_[i]->OnRound(now_);
}

void Loop::FlushAll() {
  for (size_t i = 0; i < unsent_.size(); ++i) unsent_[i]->Flush();
  unsent_.clear();
}

}  // namespace gearstalk::bench
