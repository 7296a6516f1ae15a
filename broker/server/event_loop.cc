#include "broker/server/event_loop.h"

#include <event2/event.h>

#include <algorithm>
#include <utility>

#include "broker/base/check.h"

namespace gearstalk {
namespace {

void CallHandler(int, short, void* handler) { (*static_cast<std::function<void()>*>(handler))(); }

}  // namespace

void FreeEvent::operator()(event* event) const { event_free(event); }

EventLoop::EventLoop() {
  event_config* config = event_config_new();
  GS_CHECK(config != nullptr);
  event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
  base_ = event_base_new_with_config(config);
  event_config_free(config);
  GS_CHECK(base_ != nullptr);
  // libevent's clock is a coarse one: the timeout can fire some milliseconds before `timeout_at_`.
  timeout_.reset(evtimer_new(
      base_, [](int, short, void* self) { static_cast<EventLoop*>(self)->timeout_at_ = 0; }, this));
}

EventLoop::~EventLoop() {
  timeout_.reset();
  event_base_free(base_);
}

Event EventLoop::OnReady(int fd, Interest interest, Callback callback, void* context) {
  const short what = interest == Interest::kRead ? EV_READ : EV_WRITE;
  return Event(event_new(base_, fd, static_cast<short>(what | EV_PERSIST), callback, context));
}

Event EventLoop::OnSignal(int signal, std::function<void()> handler) {
  handlers_.push_back(std::move(handler));
  Event event(evsignal_new(base_, signal, CallHandler, &handlers_.back()));
  event_add(event.get(), nullptr);
  return event;
}

Event EventLoop::Every(Time interval, std::function<void()> handler) {
  handlers_.push_back(std::move(handler));
  Event event(event_new(base_, -1, EV_PERSIST, CallHandler, &handlers_.back()));
  const timeval tv{interval / kSecond, interval % kSecond / kMicrosecond};
  event_add(event.get(), &tv);
  return event;
}

Event EventLoop::OnSoon(Callback callback, void* context) {
  return Event(evtimer_new(base_, callback, context));
}

void EventLoop::Soon(const Event& event) {
  const timeval now{0, 0};
  event_add(event.get(), &now);
}

void EventLoop::Enable(const Event& event) { event_add(event.get(), nullptr); }

void EventLoop::Disable(const Event& event) { event_del(event.get()); }

void EventLoop::RunOnce(Time now, Time until) {
  if (until <= now) {
    event_base_loop(base_, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    return;
  }
  // A timeout that is set for an earlier time stays: waking once too early is cheaper than setting
  // it anew in every round.
  if (until != kNever && (timeout_at_ <= now || until < timeout_at_)) {
    // Rounds up to epoll's milliseconds, or the loop would spin until the time has come.
    const Time wait = std::min(until - now + kMillisecond - 1, 3600 * kSecond);
    const timeval tv{wait / kSecond, wait % kSecond / kMicrosecond};
    event_add(timeout_.get(), &tv);
    timeout_at_ = now + wait;
  }
  event_base_loop(base_, EVLOOP_ONCE);
}

}  // namespace gearstalk
