#pragma once

#include <grpcpp/completion_queue.h>

#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "broker/base/descriptor.h"

namespace gearstalk::etcd {

// A step of a call that gRPC finishes; the tag in the completion queue.
class Completion {
 public:
  // On the loop's thread. May destroy itself.
  virtual void OnComplete(bool ok) = 0;

 protected:
  ~Completion() = default;
};

// gRPC's completion queue and the thread that waits for it. The thread collects what is finished
// and makes a descriptor readable; the loop then calls Run, which runs all of it.
class Completions {
 public:
  Completions();
  // Every call must have been cancelled: waits until all have ended, and runs what they left.
  ~Completions();
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  grpc::CompletionQueue& queue() { return queue_; }
  int notify_fd() const { return notify_fd_; }
  void Run();

 private:
  void Wait();

  grpc::CompletionQueue queue_;
  const Descriptor notify_fd_;
  std::mutex mutex_;  // guards finished_
  std::vector<std::pair<Completion*, bool>> finished_;
  std::thread thread_;
};

}  // namespace gearstalk::etcd
