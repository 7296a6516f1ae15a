#pragma once

#include <functional>
#include <memory>

#include "broker/base/clock.h"

struct event;
struct event_base;

namespace gearstalk {

struct FreeEvent {
  void operator()(event* event) const;
};

// An event of libevent that calls a function; it ends with its owner.
using Event = std::unique_ptr<event, FreeEvent>;

// An event loop of libevent, for one thread.
class EventLoop {
 public:
  enum class Interest { kRead, kWrite };
  using Callback = void (*)(int fd, short what, void* context);

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Calls `callback(fd, ..., context)` whenever the descriptor is ready. The event is not active
  // yet.
  Event OnReady(int fd, Interest interest, Callback callback, void* context);
  // `handler` must outlive the event.
  Event OnSignal(int signal, std::function<void()>& handler);

  // Calls `handler` after each interval; it must outlive the event.
  Event Every(Time interval, std::function<void()>& handler);

  // An event that Soon activates, each time for one call in the next turn of the loop.
  Event OnSoon(Callback callback, void* context);
  static void Soon(const Event& event);

  static void Enable(const Event& event);
  static void Disable(const Event& event);

  // Waits for events, at most until `until` (<= now: does not wait; kNever: for ever), and runs
  // them. May return earlier.
  void RunOnce(Time now, Time until);

  event_base* base() { return base_; }

 private:
  event_base* base_;
  Event timeout_;
  Time timeout_at_ = 0;  // when the timer fires; in the past: no timer is set
};

}  // namespace gearstalk
