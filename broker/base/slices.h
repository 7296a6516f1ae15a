#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace gearstalk {

// Jobs, tubes or rows that one slice looks at, at most.
inline constexpr std::size_t kSliceItems = 512;

// Ends a slice: `co_await NextSlice()`.
using NextSlice = std::suspend_always;

// Work that is done in slices, so that it delays nobody: a coroutine with a `co_await` where a
// slice ends. It runs on the loop's thread, begins when it is first advanced, and may be dropped
// before its end, which destroys its locals. What it takes by reference must outlive it. `Made` is
// the base of the promise: what the work hands over.
template <typename Made>
class [[nodiscard]] SlicesOf {
 public:
  struct promise_type : Made {  // NOLINT(readability-identifier-naming): the language's name
    SlicesOf get_return_object() { return SlicesOf(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void unhandled_exception() { std::terminate(); }
  };

  SlicesOf() = default;
  SlicesOf(SlicesOf&& other) noexcept : work_(std::exchange(other.work_, nullptr)) {}
  SlicesOf& operator=(SlicesOf&& other) noexcept {
    std::swap(work_, other.work_);
    return *this;
  }
  ~SlicesOf() {
    if (work_) work_.destroy();
  }

  // Does one slice. False: that was the last one.
  bool Advance() {
    work_.resume();
    if (!work_.done()) return true;
    if constexpr (std::is_empty_v<Made>) std::exchange(work_, nullptr).destroy();
    return false;
  }
  // What it has handed over so far.
  Made& made() { return work_.promise(); }
  // Whether there is work left, or something that it made.
  explicit operator bool() const { return work_ != nullptr; }

 private:
  using Handle = std::coroutine_handle<promise_type>;

  explicit SlicesOf(Handle work) : work_(work) {}

  Handle work_;
};

struct MadeNothing {
  void return_void() {}
};
using Slices = SlicesOf<MadeNothing>;

template <typename Result>
struct MadeResult {
  std::optional<Result> result;  // after the last slice
  void return_value(Result value) { result.emplace(std::move(value)); }
};

}  // namespace gearstalk
