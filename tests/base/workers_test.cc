#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <cstddef>
#include <latch>
#include <mutex>

#include "broker/base/threads.h"

namespace gearstalk {
namespace {

// Counts what is done.
class Counting {
 public:
  void Start(int threads) { workers_.Start(threads); }
  bool started() const { return workers_.started(); }
  void Add(int things) {
    const std::lock_guard lock(mutex_);
    left_ += things;
    workers_.Wake();
  }
  void Work() { workers_.Work(); }
  int done() {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  void Await(int done) {
    std::unique_lock lock(mutex_);
    more_.wait(lock, [&] { return done_ == done; });
  }
  void AwaitBegun(int begun) {
    std::unique_lock lock(mutex_);
    more_.wait(lock, [&] { return begun_ == begun; });
  }
  // Each thing lasts until so many are under way. nullptr: no longer than it takes.
  void Meet(std::latch* meeting) { meeting_ = meeting; }

 private:
  void DoOne(Workers::Lock& lock) {
    if (--left_ > 0) workers_.Wake();
    ++begun_;
    more_.notify_all();
    lock.unlock();
    if (meeting_ != nullptr) meeting_->arrive_and_wait();
    lock.lock();
    ++done_;
    more_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable more_;
  int left_ = 0, begun_ = 0, done_ = 0;
  std::latch* meeting_ = nullptr;
  Workers workers_{mutex_, [this] { return left_ > 0; },
                   [this](Workers::Lock& lock) { DoOne(lock); }};
};

TEST(Workers, WithoutThreadsTheCallerWorks) {
  Counting counting;
  counting.Add(3);
  EXPECT_EQ(0, counting.done());
  counting.Work();
  EXPECT_EQ(3, counting.done());
}

TEST(Workers, DoSeveralThingsAtATime) {
  constexpr int kThreads = 4;
  std::latch meeting(kThreads);
  Counting counting;
  counting.Meet(&meeting);
  counting.Start(kThreads);
  counting.Add(kThreads);
  counting.Await(kThreads);
}

// What they were woken for while they were busy is not there when they look.
TEST(Workers, WakeUpAfterTheyWereWokenForNothing) {
  std::latch meeting(2);
  Counting counting;
  counting.Meet(&meeting);
  counting.Start(1);
  counting.Add(1);
  counting.AwaitBegun(1);
  counting.Add(0);
  meeting.arrive_and_wait();
  counting.Await(1);
  counting.Meet(nullptr);
  counting.Add(1);
  counting.Await(2);
}

// Each thread needs more address space than there is.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&usual_);
    pthread_attr_init(&vast_);
    pthread_attr_setstacksize(&vast_, std::size_t{1} << 47U);
    pthread_setattr_default_np(&vast_);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&usual_);
    pthread_attr_destroy(&vast_);
    pthread_attr_destroy(&usual_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t usual_{}, vast_{};
};

TEST(Workers, WhereTheSystemGivesNoThreadTheyCanBeStartedLater) {
  Counting counting;
  {
    const NoThreads none;
    counting.Start(2);
  }
  EXPECT_FALSE(counting.started());
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_FALSE(sigismember(&blocked, SIGTERM));
  counting.Add(3);
  counting.Work();
  EXPECT_EQ(3, counting.done());
  counting.Start(1);
  counting.Add(1);
  counting.Await(4);
}

TEST(Workers, LeaveNothing) {
  constexpr int kThings = 20'000;
  Counting counting;
  counting.Start(3);
  for (int i = 0; i < kThings; ++i) counting.Add(1);
  counting.Await(kThings);
  for (int i = 1; i <= 100; ++i) {
    counting.Add(1);
    counting.Await(kThings + i);
  }
}

}  // namespace
}  // namespace gearstalk
