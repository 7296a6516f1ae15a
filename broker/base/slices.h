#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <utility>

namespace gearstalk {

// Jobs, tubes or rows that one slice looks at, at most.
inline constexpr std::size_t kSliceItems = 512;

// Ends a slice: `co_await NextSlice()`.
using NextSlice = std::suspend_always;

// Work that is done in slices, so that it delays nobody: a coroutine with a `co_await` where a
// slice ends. It runs on the loop's thread, begins when it is first advanced, and may be dropped
// before its end, which destroys its locals. What it takes by reference must outlive it.
class [[nodiscard]] Slices {
 public:
  struct promise_type {  // NOLINT(readability-identifier-naming): the language's name
    Slices get_return_object() { return Slices(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };

  Slices() = default;
  Slices(Slices&& other) noexcept : work_(std::exchange(other.work_, nullptr)) {}
  Slices& operator=(Slices&& other) noexcept {
    std::swap(work_, other.work_);
    return *this;
  }
  ~Slices() {
    if (work_) work_.destroy();
  }

  // Does one slice. False: that was the last one, and there is nothing left to advance.
  bool Advance() {
    work_.resume();
    if (!work_.done()) return true;
    std::exchange(work_, nullptr).destroy();
    return false;
  }
  // Whether there is work left.
  explicit operator bool() const { return work_ != nullptr; }

 private:
  using Handle = std::coroutine_handle<promise_type>;

  explicit Slices(Handle work) : work_(work) {}

  Handle work_;
};

}  // namespace gearstalk
