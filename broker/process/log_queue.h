#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "broker/base/log.h"

namespace gearstalk {

// Lines for a reader that may be slow or stuck: a thread writes them, so that nobody who logs
// waits. Lines that do not fit are dropped. Any thread may push.
class LogQueue {
 public:
  static constexpr std::size_t kMaxBytes = 4 << 20;

  struct Line {
    std::chrono::system_clock::time_point time;
    LogLevel level;
    std::string text;
  };
  using Write = std::function<void(const Line&)>;

  // `write` is called by the thread that Start makes, before that by Push.
  explicit LogQueue(Write write);
  // The thread writes what is left and ends; nobody waits for it.
  ~LogQueue();
  LogQueue(const LogQueue&) = delete;
  LogQueue& operator=(const LogQueue&) = delete;

  // Once the process forks no more: a thread does not outlive a fork. If the system gives none,
  // Push goes on writing.
  void Start();
  // False: the line was dropped.
  bool Push(Line line);
  // Waits until everything is written, for `most`; whether it was.
  bool Drain(std::chrono::milliseconds most);

 private:
  struct State;
  static void Run(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace gearstalk
