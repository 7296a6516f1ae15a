#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gearstalk {

// A thread beside the loop's. It takes no signals: they are the loop's. Not joinable: the system
// gives no thread, or no memory for one.
std::thread StartThread(std::function<void()> run);

// Whether the caller may use what is for the loop's thread only: it is no thread of StartThread.
bool OnLoop();

// Threads that do one thing after the other while an object has something for them, and wait
// otherwise. It is the last member of that object, whose mutex it shares: it is gone first, when
// its threads have ended.
class Workers {
 public:
  using Lock = std::unique_lock<std::mutex>;

  // Both are called with the lock held; `do_one` may open it meanwhile.
  Workers(std::mutex& mutex, std::function<bool()> has_work, std::function<void(Lock&)> do_one);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Without any, Work works. The system may give fewer, or none: then it can be called again.
  void Start(int threads);
  bool started() const { return !threads_.empty(); }
  // With the lock held: there may be something to do. It wakes one thread. That one calls this
  // again if it leaves something for others, so a thread that can take several things at once
  // leaves the others asleep.
  void Wake();
  // Does all that there is, on the caller's thread.
  void Work();

  // For `do_one`, with the lock held: whether it has to return soon.
  bool stopping() const { return stop_; }
  // Sleeps for so long, with the lock open, unless it has to return.
  void Rest(Lock& lock, double seconds);

 private:
  void Run();

  std::mutex& mutex_;
  const std::function<bool()> has_work_;
  const std::function<void(Lock&)> do_one_;
  std::condition_variable wanted_;
  bool waking_ = false;  // a thread was woken and has not looked yet
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace gearstalk
