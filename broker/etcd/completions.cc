#include "broker/etcd/completions.h"

#include <sys/eventfd.h>

#include "broker/base/check.h"
#include "broker/base/threads.h"

namespace gearstalk::etcd {

Completions::Completions() : notify_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  GS_CHECK(notify_fd_ >= 0);
  thread_ = StartThread([this] { Wait(); });
  GS_CHECK(thread_.joinable());
}

Completions::~Completions() {
  queue_.Shutdown();
  thread_.join();
  Run();
}

void Completions::Wait() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
    bool first = false;
    {
      const std::lock_guard lock(mutex_);
      first = finished_.empty();
      finished_.emplace_back(static_cast<Completion*>(tag), ok);
    }
    const std::uint64_t one = 1;
    if (first) GS_CHECK(write(notify_fd_, &one, sizeof one) == sizeof one);
  }
}

void Completions::Run() {
  GS_DCHECK(OnLoop());
  std::uint64_t count = 0;
  // It may not be readable: then there is nothing new, or what is new comes with the next call.
  static_cast<void>(!read(notify_fd_, &count, sizeof count));
  std::vector<std::pair<Completion*, bool>> finished;
  {
    const std::lock_guard lock(mutex_);
    finished.swap(finished_);
  }
  for (const auto& [completion, ok] : finished) completion->OnComplete(ok);
}

}  // namespace gearstalk::etcd
