#include "broker/engine/engine.h"

namespace gearstalk {
namespace {

constexpr std::string_view kDefaultTube = "default";

}  // namespace

Engine::Engine(EngineOptions options, Journal& journal)
    : options_(options),
      journal_(journal),
      persistent_(journal.Persistent()),
      idle_functions_(options.idle_functions),
      dispatch_(*this, options.fair, effort_) {
  // The default tube is permanent, as in beanstalkd.
  TubeNamed(kDefaultTube).permanent_ = true;
}

void Engine::SetOptions(const EngineOptions& options) {
  options_ = options;
  dispatch_.ready().set_fair(options.fair);
  idle_functions_.SetMost(options.idle_functions);
}

Engine::~Engine() {
  for (Job* job = jobs_.Next(0); job != nullptr; job = jobs_.Next(0)) {
    DropWaiters(*job);
    LeaveState(*job);
    ForgetHome(*job);
    LeaveGroup(*job);
    jobs_.Erase(job->id());
    JobUnref::Drop(job);
  }
}

void Engine::Join(Consumer& consumer) {
  GS_CHECK(!consumer.joined_);
  consumer.joined_ = true;
}

bool Engine::Leave(Time now, Consumer& consumer) {
  if (!consumer.joined_) return true;
  dispatch_.EndWait(consumer);
  dispatch_.DropPromise(now, consumer);
  std::size_t steps = kSlice;
  GiveBackHeld(now, consumer, steps, stopping_ ? BadEnd::kReturned : BadEnd::kLost);
  if (!consumer.held_.empty()) return false;
  while (!consumer.watched_.empty()) {
    if (steps-- == 0) return false;
    RemoveWatch(consumer, **(consumer.watched_.end() - 1));
  }
  if (consumer.used_ != nullptr) {
    --consumer.used_->using_;
    ReleaseTube(*consumer.used_);
    consumer.used_ = nullptr;
  }
  deadlines_.Cancel(consumer);
  if (consumer.producer_) --totals_.producers;
  if (consumer.worker_) --totals_.workers;
  consumer.producer_ = consumer.worker_ = consumer.joined_ = false;
  return true;
}

Consumer::~Consumer() { GS_CHECK(!joined_); }

}  // namespace gearstalk
