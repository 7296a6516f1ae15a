// Who waits, who is served, and what time brings.

#include <algorithm>

#include "tests/engine/model.h"

namespace gearstalk {
namespace {

constexpr Time kPromise = 100 * kMillisecond;

bool Before(const Model::Job& a, const Model::Job& b) {
  return a.priority != b.priority ? a.priority < b.priority : a.id < b.id;
}

}  // namespace

std::vector<JobId> Model::HeldInOrder(int consumer) const {
  std::vector<const Job*> held;
  for (const auto& [id, job] : jobs) {
    if (job.state == JobState::kReserved && job.holder == consumer) held.push_back(&job);
  }
  std::stable_sort(held.begin(), held.end(),
                   [](const Job* a, const Job* b) { return a->until < b->until; });
  std::vector<JobId> ids;
  for (const Job* job : held) ids.push_back(job->id);
  return ids;
}

Time Model::FirstDeadline(int consumer) const {
  const std::vector<JobId> held = HeldInOrder(consumer);
  return held.empty() ? kNever : jobs.at(held.front()).until;
}

std::size_t Model::ReadyIn(std::string_view tube) const {
  return static_cast<std::size_t>(std::count_if(jobs.begin(), jobs.end(), [&](const auto& entry) {
    return entry.second.state == JobState::kReady && entry.second.tube == tube;
  }));
}

std::size_t Model::PromisedIn(std::string_view tube) const {
  return static_cast<std::size_t>(std::count_if(
      consumers.begin(), consumers.end(), [&](const auto& each) { return each.promised == tube; }));
}

Model::Job* Model::BestIn(std::string_view tube) {
  Job* best = nullptr;
  for (auto& [id, job] : jobs) {
    if (job.state != JobState::kReady || job.tube != tube) continue;
    if (best == nullptr || Before(job, *best)) best = &job;
  }
  return best;
}

Model::Job* Model::Best(int consumer) {
  Job* best = nullptr;
  for (const Watched& watch : consumers[consumer].watched) {
    if (paused.contains(watch.tube)) continue;
    Job* front = BestIn(watch.tube);
    if (front == nullptr) continue;
    if (best == nullptr || Before(*front, *best)) best = front;
  }
  return best;
}

int Model::LongestWaiting(std::string_view tube) const {
  int longest = -1;
  for (int i = 0; i < static_cast<int>(consumers.size()); ++i) {
    if (consumers[i].wait == Wait::kNone || FindWatch(i, tube) == nullptr) continue;
    if (longest < 0 || consumers[i].since < consumers[longest].since) longest = i;
  }
  return longest;
}

void Model::BeginWait(int consumer, Wait wait, Time until) {
  consumers[consumer].wait = wait;
  consumers[consumer].wait_until = until;
  consumers[consumer].since = next_wait_++;
}

void Model::EndWait(int consumer) { consumers[consumer].wait = Wait::kNone; }

void Model::Serve(Time now, const std::string& tube, bool fresh) {
  if (paused.contains(tube) || ReadyIn(tube) == 0) return;
  if (wake_all_ && fresh) WakeSleepers(tube);
  while (ReadyIn(tube) > PromisedIn(tube)) {
    const int consumer = LongestWaiting(tube);
    if (consumer < 0) return;
    if (consumers[consumer].wait == Wait::kSleeping) {
      Wake(now, consumer, tube);
      continue;
    }
    EndWait(consumer);
    Job& job = *BestIn(tube);
    Take(now, job, consumer);
    told.push_back({consumer, What::kReserved, job.id});
  }
}

void Model::Wake(Time now, int consumer, const std::string& tube) {
  EndWait(consumer);
  consumers[consumer].promised = tube;
  consumers[consumer].promise_ends = now + kPromise;
  promises_.push_back(consumer);
  told.push_back({consumer, What::kJobsAvailable, 0});
}

// Those of few tubes first, then those of many, each in the order in which they fell asleep.
void Model::WakeSleepers(std::string_view tube) {
  std::vector<int> sleepers;
  for (int i = 0; i < static_cast<int>(consumers.size()); ++i) {
    if (consumers[i].wait == Wait::kSleeping && FindWatch(i, tube)) sleepers.push_back(i);
  }
  std::sort(sleepers.begin(), sleepers.end(), [&](int a, int b) {
    const bool wide_a = consumers[a].watched.size() > kWide;
    const bool wide_b = consumers[b].watched.size() > kWide;
    return wide_a != wide_b ? wide_b : consumers[a].since < consumers[b].since;
  });
  for (const int sleeper : sleepers) {
    EndWait(sleeper);
    told.push_back({sleeper, What::kJobsAvailable, 0});
  }
}

void Model::Forgo(int consumer) {
  consumers[consumer].promised.clear();
  std::erase(promises_, consumer);
}

void Model::DropPromise(Time now, int consumer) {
  const std::string tube = consumers[consumer].promised;
  if (tube.empty()) return;
  Forgo(consumer);
  Serve(now, tube, false);
}

// --- Time

Time Model::NextEvent() const {
  Time next = kNever;
  for (const auto& [id, job] : jobs) {
    next = std::min(next, job.until);
    const bool waits = job.holder >= 0 && consumers[job.holder].wait == Wait::kReserving;
    if (waits && job.until != kNever) next = std::min(next, job.until - kMargin);
  }
  for (const Consumer& consumer : consumers) {
    if (consumer.wait == Wait::kReserving) next = std::min(next, consumer.wait_until);
    if (!consumer.promised.empty()) next = std::min(next, consumer.promise_ends);
  }
  for (const auto& [tube, until] : paused) next = std::min(next, until);
  return next;
}

bool Model::Ambiguous(Time now) const {
  std::size_t due = 0;
  for (const auto& [id, job] : jobs) {
    if (job.state == JobState::kDelayed && job.until <= now) ++due;
  }
  for (const auto& [tube, until] : paused) due += until <= now ? 1 : 0;
  for (int i = 0; i < static_cast<int>(consumers.size()); ++i) {
    const Consumer& it = consumers[i];
    const Time deadline = FirstDeadline(i);
    const bool reserves = it.wait == Wait::kReserving;
    const bool ends = reserves && (it.wait_until <= now || deadline - kMargin <= now);
    if (ends || deadline <= now) ++due;
  }
  return due > 1;
}

void Model::Do(Time now) {
  std::vector<JobId> ripe;
  for (auto& [id, job] : jobs) {
    if (job.state == JobState::kDelayed && job.until <= now) ripe.push_back(id);
  }
  for (const JobId id : ripe) GetReady(now, jobs.at(id));
  std::vector<std::string> ended;
  for (const auto& [tube, until] : paused) {
    if (until <= now) ended.push_back(tube);
  }
  for (const std::string& tube : ended) {
    paused.erase(tube);
    Serve(now, tube, false);
  }
  for (int i = 0; i < static_cast<int>(consumers.size()); ++i) ConsumerDue(now, i);
  while (!promises_.empty() && consumers[promises_.front()].promise_ends <= now) {
    const int late = promises_.front();
    const std::string tube = consumers[late].promised;
    Forgo(late);
    if (!paused.contains(tube) && ReadyIn(tube) > 0) WakeSleepers(tube);
    Serve(now, tube, false);
  }
}

void Model::ConsumerDue(Time now, int consumer) {
  Consumer& it = consumers[consumer];
  if (it.wait == Wait::kReserving && FirstDeadline(consumer) - kMargin <= now) {
    EndWait(consumer);
    told.push_back({consumer, What::kDeadlineSoon, 0});
  } else if (it.wait == Wait::kReserving && it.wait_until <= now) {
    EndWait(consumer);
    told.push_back({consumer, What::kTimedOut, 0});
  }
  for (const JobId id : HeldInOrder(consumer)) {
    Job& job = jobs.at(id);
    if (job.until <= now) GiveBack(now, job, job.run_limit <= now);
  }
}

}  // namespace gearstalk
