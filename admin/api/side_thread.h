#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "admin/api/call.h"
#include "broker/base/threads.h"

namespace gearstalk::api {

// Runs work that cannot be cut into slices and shares no state, one piece after the other, on a
// thread of its own, which starts with the first piece; while the system gives none, in the call.
// Its end finishes the current piece, and drops those that wait.
class SideThread {
 public:
  using Ticket = std::uint64_t;

  Ticket Do(std::function<void()> work);
  // Forgets the piece unless it has begun.
  void Drop(Ticket ticket);

 private:
  struct Piece {
    Ticket ticket;
    std::function<void()> work;
  };

  void DoOne(Workers::Lock& lock);

  std::mutex mutex_;
  std::deque<Piece> waiting_;
  Ticket last_ = 0;
  Workers workers_{mutex_, [this] { return !waiting_.empty(); },
                   [this](Workers::Lock& lock) { DoOne(lock); }};
};

// A result of the side thread; the loop polls it. The first call of `done` gives the work to the
// thread, and the destructor takes it back: the thread has no work whose result nobody awaits.
template <typename Result>
class SideResult {
 public:
  SideResult(SideThread& thread, std::function<Result()> work)
      : thread_(thread), work_(std::move(work)) {}
  ~SideResult() { thread_.Drop(ticket_); }
  SideResult(const SideResult&) = delete;
  SideResult& operator=(const SideResult&) = delete;

  bool done() {
    if (work_ != nullptr) {
      ticket_ = thread_.Do([shared = shared_, work = std::exchange(work_, nullptr)] {
        try {
          shared->result = work();
        } catch (const std::bad_alloc&) {
        }
        shared->done.store(true, std::memory_order_release);
      });
    }
    return shared_->done.load(std::memory_order_acquire);
  }
  // Once it is done. nullopt: there was no memory for it.
  std::optional<Result>& operator*() { return shared_->result; }

 private:
  struct Shared {
    std::optional<Result> result;
    std::atomic<bool> done = false;
  };
  SideThread& thread_;
  std::function<Result()> work_;  // until it is given to the thread
  SideThread::Ticket ticket_ = 0;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

// Answers with the JSON text that the side thread makes.
Task OnSideThread(SideThread& thread, std::function<std::string()> work);

}  // namespace gearstalk::api
