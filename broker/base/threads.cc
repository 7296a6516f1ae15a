#include "broker/base/threads.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <system_error>
#include <utility>

namespace gearstalk {
namespace {

thread_local bool beside_loop = false;

}  // namespace

std::thread StartThread(std::function<void()> run) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread started;
  try {
    started = std::thread([run = std::move(run)] {
      beside_loop = true;
      run();
    });
  } catch (const std::system_error&) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

bool OnLoop() { return !beside_loop; }

Workers::Workers(std::mutex& mutex, std::function<bool()> has_work,
                 std::function<void(Lock&)> do_one)
    : mutex_(mutex), has_work_(std::move(has_work)), do_one_(std::move(do_one)) {}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wanted_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::Start(int threads) {
  for (int i = 0; i < threads; ++i) {
    std::thread started = StartThread([this] { Run(); });
    if (!started.joinable()) return;
    threads_.push_back(std::move(started));
  }
}

void Workers::Run() {
  Lock lock(mutex_);
  while (true) {
    while (!stop_ && !has_work_()) {
      waking_ = false;  // what it was woken for is not there any more
      wanted_.wait(lock);
    }
    if (stop_) return;
    waking_ = false;
    do_one_(lock);
  }
}

void Workers::Wake() {
  if (std::exchange(waking_, true)) return;
  wanted_.notify_one();
}

void Workers::Work() {
  Lock lock(mutex_);
  while (has_work_()) do_one_(lock);
}

void Workers::Rest(Lock& lock, double seconds) {
  wanted_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return stop_; });
}

}  // namespace gearstalk
