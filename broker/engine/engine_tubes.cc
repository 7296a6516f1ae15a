// The tubes that clients use and watch; how tubes come and go.

#include <utility>
#include <vector>

#include "broker/engine/engine.h"

namespace gearstalk {

void Engine::EraseIfEmpty(Tube& tube) {
  if (tube.unfinished() > 0 || tube.buried() > 0) return;
  if (tube.groups_ != nullptr && !tube.groups_->empty()) return;
  if (tube.permanent_ || tube.settings_.created_function) return;
  if (tube.settings_.max_queue != ConfiguredMaxQueue(tube)) return;
  if (TubePolicies::Keeps(tube)) {
    if (tube.state_->paced != 0) deadlines_.Arm(tube, tube.state_->paced);
    return;
  }
  if (tube.paused()) {
    // The pause ends with the tube: a replay must not bring it back.
    tube.settings_.pause_until = tube.settings_.pause_s = 0;
    pauses_.Note(tube);
    records_.AppendSettings(tube);
  }
  deadlines_.Cancel(tube);
  pace_.Forget(tube);
  records_.Forget(tube);
  if (tube.function_) idle_functions_.Add(ticked_, tube.name());
  tubes_.Erase(tube);
}

Code Engine::Use(Consumer& consumer, std::string_view name) {
  Tube* before = consumer.used_;
  if (before != nullptr && before->name() == name) return Code::kOk;
  Tube* tube = TubeForUse(name);
  // Reply tubes are outside the limit: a connection has one at most, for as long as it uses it.
  if (tube == nullptr && TakesAnswers(name)) tube = &MakeTube(name);
  if (tube == nullptr) return CountRefused(Code::kTooManyTubes);
  ++tube->using_;
  consumer.used_ = tube;
  if (before != nullptr) {
    --before->using_;
    ReleaseTube(*before);
  }
  return Code::kOk;
}

Code Engine::Watch(Time now, Consumer& consumer, std::string_view name, bool able, Time run_limit) {
  if (able && TakesAnswers(name)) return CountRefused(Code::kInvalid);
  Tube* const found = TubeForUse(name);
  if (found == nullptr) return CountRefused(Code::kTooManyTubes);
  Tube& tube = *found;
  WatchEntry* watch = consumer.watched_.Find(tube);
  const bool waits = consumer.waiting();
  if (watch == nullptr && consumer.watched_.size() >= WatchList::kWide && TablesFull()) {
    ReleaseTube(tube);
    return CountRefused(Code::kOutOfMemory);
  }
  if (watch == nullptr) {
    const bool widens = consumer.watched_.size() == WatchList::kWide;
    if (waits && widens) dispatch_.line().Leave(consumer);
    watch = &consumer.watched_.Add(tube, consumer);
    if (consumer.index_ != nullptr) consumer.index_->Add(*watch);
    ++tube.watching_;
    if (widens) {
      for (const auto& each : consumer.watched_) each->tube.wide_.push_back(*each);
      if (waits) dispatch_.line().Enter(consumer);
    } else if (consumer.watched_.wide()) {
      tube.wide_.push_back(*watch);
    } else if (waits) {
      dispatch_.line().Enter(*watch);
    }
  }
  watch->run_limit = run_limit;
  if (able) tube.function_ = true;
  if (able && !consumer.worker_) {
    consumer.worker_ = true;
    ++totals_.workers;
  }
  if (consumer.worker_ && !watch->counted) {
    watch->counted = true;
    ++tube.workers_;
  }
  if (waits) dispatch_.Serve(now, tube);
  return Code::kOk;
}

void Engine::RemoveWatch(Consumer& consumer, WatchEntry& watch) {
  Tube& tube = watch.tube;
  const bool waits = consumer.waiting();
  const bool narrows = consumer.watched_.size() == WatchList::kWide + 1;
  if (narrows) {
    if (waits) dispatch_.line().Leave(consumer);
    for (const auto& each : consumer.watched_) {
      each->tube.wide_.erase(each->tube.wide_.iterator_to(*each));
    }
  } else if (consumer.watched_.wide()) {
    tube.wide_.erase(tube.wide_.iterator_to(watch));
  } else if (waits) {
    WaitingLine::Leave(watch);
  }
  --tube.watching_;
  if (watch.counted) --tube.workers_;
  if (consumer.index_ != nullptr) consumer.index_->Remove(watch);
  consumer.watched_.Remove(watch);
  if (waits && narrows) dispatch_.line().Enter(consumer);
  ReleaseTube(tube);
}

Code Engine::Ignore(Time now, Consumer& consumer, std::string_view name, bool may_be_last) {
  Tube* tube = tubes_.Find(name);
  WatchEntry* watch = tube == nullptr ? nullptr : consumer.watched_.Find(*tube);
  if (watch == nullptr) return Code::kOk;
  if (consumer.watched_.size() == 1 && !may_be_last) return Code::kNotIgnored;
  if (consumer.promised_ == tube) dispatch_.DropPromise(now, consumer);
  RemoveWatch(consumer, *watch);
  return Code::kOk;
}

bool Engine::CantDo(Time now, Consumer& consumer, std::string_view name) {
  Tube* tube = tubes_.Find(name);
  if (tube == nullptr || consumer.watched_.Find(*tube) == nullptr) return true;
  std::vector<Job*> running;
  const std::size_t held = tube->reserved() == 0 ? 0 : consumer.held_.size();
  for (std::size_t i = 0; i < held && running.size() <= kSlice; ++i) {
    ++effort_;
    if (&consumer.held_.At(i)->tube() == tube) running.push_back(consumer.held_.At(i));
  }
  const bool all = running.size() <= kSlice;
  // Its wait for this function ends first, so that it does not get its own jobs back.
  if (all) Ignore(now, consumer, name, /*may_be_last=*/true);
  GiveBackAll(now, std::move(running), BadEnd::kReturned);
  return all;
}

bool Engine::ResetAbilities(Time now, Consumer& consumer) {
  dispatch_.DropPromise(now, consumer);
  std::size_t steps = kSlice;
  while (!consumer.watched_.empty()) {
    if (steps-- == 0) return false;
    RemoveWatch(consumer, **(consumer.watched_.end() - 1));
  }
  GiveBackHeld(now, consumer, steps, BadEnd::kReturned);
  return consumer.held_.empty();
}

void Engine::CountNewWorker(Consumer& consumer) {
  ++totals_.workers;
  for (const auto& watch : consumer.watched_) {
    watch->counted = true;
    ++watch->tube.workers_;
  }
}

}  // namespace gearstalk
