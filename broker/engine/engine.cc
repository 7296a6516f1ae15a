#include "broker/engine/engine.h"

#include <algorithm>

namespace gearstalk {
namespace {

constexpr std::string_view kDefaultTube = "default";

// `limits.maxqueue` overrides the policy's max_jobs.
MaxQueue MaxQueueIn(const EngineLimits& limits, const Tube& tube) {
  const auto found = limits.max_queue.find(tube.name());
  if (found != limits.max_queue.end()) return found->second;
  return tube.policy() == nullptr ? MaxQueue{} : tube.policy()->max_jobs;
}

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

// --- Questions -----------------------------------------------------------------------------------

EngineStats Engine::Stats() const {
  EngineStats stats = totals_;
  stats.tubes = tubes_.size();
  stats.remembered_keys = seen_.size();
  stats.bodies = bodies_.counts();
  return stats;
}

const Job* Engine::FindUnique(std::string_view unique, std::uint64_t& last) const {
  for (std::size_t tubes = 0; tubes < kSlice; ++tubes) {
    const Tube* const tube = tubes_.Next(last);
    last = tube == nullptr ? 0 : tube->id();
    if (tube == nullptr) break;
    ++effort_;
    if (const Job* job = uniques_.Find(*tube, unique)) return job;
  }
  return nullptr;
}

bool Engine::Listed(const Tube& tube) const {
  return tube.unfinished() > 0 || tube.buried() > 0 || tube.function_ ||
         tube.settings().created_function || Waiting(tube) > 0;
}

std::size_t Engine::Waiters(const Job& job) const {
  std::size_t waiters = 0;
  for (const Waiter& waiter : job.rest().waiters) {
    ++effort_;
    waiters += waiter.times;
  }
  return waiters;
}

Time Engine::TimeLeft(Time now, const Job& job) const {
  Time end = kNever;
  if (job.state_ == JobState::kDelayed) end = job.tube_->delayed_.TimeAt(job.link_.held.slot);
  if (job.state_ == JobState::kReserved) end = job.holder()->held_.TimeAt(job.link_.held.slot);
  return end == kNever ? 0 : std::max<Time>(end - now, 0);
}

Time Engine::PauseLeft(Time now, const Tube& tube) const {
  return tube.paused() ? std::max<Time>(tube.settings_.pause_until - now, 0) : 0;
}

void Engine::VisitNext(const Tube& tube, JobState state, std::size_t bound,
                       const std::function<void(const Job&)>& visit) const {
  if (state == JobState::kReady && tube.groups_ != nullptr) {
    tube.groups_->VisitByAge(bound, visit);
  } else if (state == JobState::kReady) {
    tube.ready_.VisitFirst(bound, visit);
  }
  if (state == JobState::kDelayed) tube.delayed_.VisitFirst(bound, visit);
  if (state != JobState::kBuried) return;
  const Job* job = tube.buried_.front();
  for (; job != nullptr && bound > 0; --bound, job = JobList::After(*job)) visit(*job);
}

// --- Limits, and the tubes that they allow -------------------------------------------------------

// O(tubes): at start and when the configuration changes.
void Engine::SetLimits(EngineLimits limits) {
  const EngineLimits before = std::exchange(limits_, std::move(limits));
  bodies_.SetLimit(limits_.bodies);
  std::uint64_t last = 0;
  while (Tube* const tube = tubes_.Next(last)) {
    last = tube->id();
    const MaxQueue configured = MaxQueueIn(before, *tube);
    if (tube->settings_.max_queue == configured) {
      tube->settings_.max_queue = ConfiguredMaxQueue(*tube);
    }
    ReleaseTube(*tube);
  }
}

MaxQueue Engine::ConfiguredMaxQueue(std::string_view name) const {
  if (const Tube* const tube = tubes_.Find(name)) return ConfiguredMaxQueue(*tube);
  const auto found = limits_.max_queue.find(name);
  if (found != limits_.max_queue.end()) return found->second;
  const PolicyRules& rules = policies_.rules();
  return rules.empty() ? MaxQueue{} : rules.Of(name, {}).max_jobs;
}

MaxQueue Engine::ConfiguredMaxQueue(const Tube& tube) const { return MaxQueueIn(limits_, tube); }

// The settings that differ from the configuration, which the journal keeps.
TubeSettings Engine::OwnSettings(const Tube& tube) const {
  TubeSettings own = tube.settings_;
  if (own.max_queue == ConfiguredMaxQueue(tube)) own.max_queue = {};
  return own;
}

Tube& Engine::MakeTube(std::string_view name) {
  Tube& tube = tubes_.Make(name);
  tube.settings_.max_queue = ConfiguredMaxQueue(tube);
  tube.function_ = idle_functions_.Remove(name);
  if (!policies_.rules().empty()) policies_.Resolve(tube);
  return tube;
}

// Whatever the limits.
Tube& Engine::TubeNamed(std::string_view name) {
  Tube* found = tubes_.Find(name);
  return found == nullptr ? MakeTube(name) : *found;
}

// nullptr: the limit of tubes is reached.
Tube* Engine::TubeForUse(std::string_view name) {
  if (Tube* found = tubes_.Find(name)) return found;
  if (limits_.tubes > 0 && tubes_.size() >= limits_.tubes) return nullptr;
  if (TablesFull()) return nullptr;
  return &MakeTube(name);
}

}  // namespace gearstalk
