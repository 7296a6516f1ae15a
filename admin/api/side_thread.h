#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "admin/api/call.h"

namespace gearstalk::api {

// Runs work that cannot be cut into slices and shares no state, one piece after the other, on a
// thread of its own, which starts with the first piece.
class SideThread {
 public:
  SideThread() = default;
  // Finishes the current piece, and drops those that wait.
  ~SideThread();
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  void Do(std::function<void()> work);

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable wakes_;
  std::deque<std::function<void()>> waiting_;
  bool ends_ = false;
  std::thread thread_;
};

// A result of the side thread; the loop polls it.
template <typename Result>
class SideResult {
 public:
  SideResult(SideThread& thread, std::function<Result()> work) {
    thread.Do([shared = shared_, work = std::move(work)] {
      shared->result = work();
      shared->done.store(true, std::memory_order_release);
    });
  }
  bool done() const { return shared_->done.load(std::memory_order_acquire); }
  // Once it is done.
  Result& operator*() { return shared_->result; }

 private:
  struct Shared {
    Result result;
    std::atomic<bool> done = false;
  };
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

// Answers with the JSON text that the side thread makes.
class SideTask final : public Task {
 public:
  SideTask(SideThread& thread, std::function<std::string()> work)
      : text_(thread, std::move(work)) {}

  std::optional<Reply> Advance(Time) override {
    if (!text_.done()) return std::nullopt;
    Reply reply;
    reply.body = std::move(*text_);
    return reply;
  }

 private:
  SideResult<std::string> text_;
};

}  // namespace gearstalk::api
