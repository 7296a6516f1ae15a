#include "broker/process/log_queue.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "broker/base/threads.h"

namespace gearstalk {

// Shared with the thread, which may still hang in a write when the queue is destroyed.
struct LogQueue::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Line> lines;
  std::size_t bytes = 0;
  Write write;
  bool started = false;
  bool writing = false;
  bool over = false;
};

LogQueue::LogQueue(Write write) : state_(std::make_shared<State>()) {
  state_->write = std::move(write);
}

LogQueue::~LogQueue() {
  const std::lock_guard lock(state_->mutex);
  state_->over = true;
  state_->changed.notify_all();
}

void LogQueue::Start() {
  const std::lock_guard lock(state_->mutex);
  if (state_->started) return;
  std::thread thread = StartThread([state = state_] { Run(state); });
  if (!thread.joinable()) return;
  thread.detach();
  state_->started = true;
}

bool LogQueue::Push(Line line) {
  std::unique_lock lock(state_->mutex);
  if (!state_->started) {
    state_->write(line);
    return true;
  }
  if (state_->bytes + line.text.size() > kMaxBytes) return false;
  state_->bytes += line.text.size();
  state_->lines.push_back(std::move(line));
  state_->changed.notify_all();
  return true;
}

bool LogQueue::Drain(std::chrono::milliseconds most) {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, most,
                                  [this] { return state_->lines.empty() && !state_->writing; });
}

void LogQueue::Run(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  while (true) {
    state->changed.wait(lock, [&] { return state->over || !state->lines.empty(); });
    if (state->lines.empty()) return;
    const Line line = std::move(state->lines.front());
    state->lines.pop_front();
    state->bytes -= line.text.size();
    state->writing = true;
    lock.unlock();
    state->write(line);
    lock.lock();
    state->writing = false;
    state->changed.notify_all();
  }
}

}  // namespace gearstalk
