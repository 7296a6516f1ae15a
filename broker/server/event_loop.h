#pragma once

#include <functional>
#include <list>
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

  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Calls the method of `object` whenever the descriptor is ready. The event is not active yet.
  template <auto kMethod, typename T>
  Event OnReady(int fd, Interest interest, T& object) {
    return OnReady(fd, interest, Call<kMethod, T>, &object);
  }
  // An event that Soon activates, each time for one call in the next turn of the loop.
  template <auto kMethod, typename T>
  Event OnSoon(T& object) {
    return OnSoon(Call<kMethod, T>, &object);
  }
  static void Soon(const Event& event);

  // The loop keeps the handlers.
  Event OnSignal(int signal, std::function<void()> handler);
  // After each interval.
  Event Every(Time interval, std::function<void()> handler);

  static void Enable(const Event& event);
  static void Disable(const Event& event);

  // Waits for events, at most until `until` (<= now: does not wait; kNever: for ever), and runs
  // them. May return earlier.
  void RunOnce(Time now, Time until);

  event_base* base() { return base_; }

 private:
  using Callback = void (*)(int fd, short what, void* context);
  template <auto kMethod, typename T>
  static void Call(int /*fd*/, short /*what*/, void* object) {
    (static_cast<T*>(object)->*kMethod)();
  }
  Event OnReady(int fd, Interest interest, Callback callback, void* context);
  Event OnSoon(Callback callback, void* context);

  event_base* base_;
  std::list<std::function<void()>> handlers_;
  Event timeout_;
  Time timeout_at_ = 0;  // when the timer fires; in the past: no timer is set
};

}  // namespace gearstalk
