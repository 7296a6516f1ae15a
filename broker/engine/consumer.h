#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>

#include "broker/base/clock.h"
#include "broker/base/lsn.h"
#include "broker/engine/deadlines.h"
#include "broker/engine/indexed_heap.h"
#include "broker/engine/job.h"
#include "broker/engine/ready_index.h"
#include "broker/engine/watch_list.h"

namespace gearstalk {

// One connection as the engine sees it: what it uses, watches and holds, and whether it waits.
// A session derives from it. The On... methods are called from inside engine calls and must not
// call the engine back: they encode a reply and let the loop go on with the session later.
//
// Lifetime: Engine::Join before any other call, Engine::Leave before it is destroyed.
class Consumer : public Timer {
 public:
  // A job that Reserve waited for; `lsn` has to be durable before it may be shown.
  virtual void OnReserved(Job& /*job*/, Lsn /*lsn*/) {}
  // One of its reservations has a second left (beanstalk's safety margin), nothing is ready.
  virtual void OnDeadlineSoon() {}
  virtual void OnTimedOut() {}
  // It sleeps, and there may be work: ask again (Gearman's NOOP).
  virtual void OnJobsAvailable() {}
  // A put of it waited to be compared: put it again. Must not call the engine back.
  virtual void OnCompared() {}

  const WatchList& watched() const { return watched_; }
  Tube* used() const { return used_; }
  bool producer() const { return producer_; }  // has put or submitted
  bool worker() const { return worker_; }      // has reserved, or can do a function
  bool idle() const { return worker_ && held_.empty(); }
  bool waiting() const { return wait_ != Wait::kNone; }
  // Rises with every new wait: the order of service.
  std::uint64_t wait_since() const { return wait_since_; }
  // For whose job it was woken and has not asked yet; nullptr: for none.
  const Tube* promised() const { return promised_; }
  std::size_t held() const { return held_.size(); }
  // The first `bound` jobs that it holds, by the end of their time. O(bound log bound).
  template <typename Visit>
  void VisitHeld(std::size_t bound, Visit visit) const {
    held_.VisitFirst(bound, visit);
  }

  // Of the engine: by deadline; kNever where there is none.
  IndexedHeap<Job>& held_jobs() { return held_; }

 protected:
  Consumer() : Timer(Timer::Kind::kConsumer) {}
  virtual ~Consumer();

 private:
  friend class Consuming;
  friend class Dispatch;
  enum class Wait : std::uint8_t { kNone, kReserving, kSleeping };

  using Hook = boost::intrusive::list_member_hook<>;

  WatchList watched_;
  std::unique_ptr<ReadyIndex> index_;  // made when it watches many tubes and many have jobs
  Tube* used_ = nullptr;
  IndexedHeap<Job> held_;
  Wait wait_ = Wait::kNone;
  bool joined_ = false;
  bool producer_ = false;     // has put or submitted
  bool worker_ = false;       // has reserved, or can do a function
  bool limited_ = false;      // took a job under a CAN_DO_TIMEOUT since its last sleep
  bool needs_ttr_ = false;    // reserves (beanstalk): every job it takes has a deadline
  Time wait_until_ = kNever;  // reserve-with-timeout
  std::uint64_t wait_since_ = 0;
  Time wait_began_ = 0;
  Time waited_ = 0;           // how long, for the job it gets next
  Tube* promised_ = nullptr;  // tube whose job it was woken for and has not asked for yet
  Time promise_ends_ = 0;     // when nobody counts on it any more
  Hook wide_hook_;            // among the waiters that watch many tubes
  Hook promise_hook_;         // among those with a promise

 public:
  using WideList =
      boost::intrusive::list<Consumer,
                             boost::intrusive::member_hook<Consumer, Hook, &Consumer::wide_hook_>,
                             boost::intrusive::constant_time_size<true>>;
  using PromisedList = boost::intrusive::list<
      Consumer, boost::intrusive::member_hook<Consumer, Hook, &Consumer::promise_hook_>,
      boost::intrusive::constant_time_size<false>>;
};

}  // namespace gearstalk
