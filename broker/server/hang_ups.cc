#include "broker/server/hang_ups.h"

#include <sys/epoll.h>

#include <array>

#include "broker/base/check.h"

namespace gearstalk {

HangUps::HangUps(EventLoop& loop, Callback callback)
    : callback_(callback), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  GS_CHECK(epoll_ >= 0);
  readable_ = loop.OnReady(
      epoll_, EventLoop::Interest::kRead,
      [](int, short, void* self) { static_cast<HangUps*>(self)->Report(); }, this);
  EventLoop::Enable(readable_);
}

void HangUps::Watch(int fd, void* context) {
  epoll_event event{};
  event.events = EPOLLRDHUP | EPOLLONESHOT;
  event.data.ptr = context;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
}

void HangUps::Forget(int fd) { epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr); }

void HangUps::Report() {
  std::array<epoll_event, 64> events{};
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) callback_(events[static_cast<std::size_t>(i)].data.ptr);
}

}  // namespace gearstalk
