#pragma once

#include "broker/base/descriptor.h"
#include "broker/server/event_loop.h"

namespace gearstalk {

// Reports peers that hang up or reset their connection while nothing is read from them. libevent
// cannot: it reports an error only for events of reading or writing, and epoll then never waits
// again. So these descriptors are in an epoll instance of their own, each for one report.
class HangUps {
 public:
  using Callback = void (*)(void* context);

  // `callback` is called with the context of the descriptor.
  HangUps(EventLoop& loop, Callback callback);

  void Watch(int fd, void* context);
  void Forget(int fd);

 private:
  void Report();

  const Callback callback_;
  const Descriptor epoll_;
  Event readable_;
};

}  // namespace gearstalk
