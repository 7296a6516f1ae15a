#include "tests/engine/model.h"

#include <algorithm>

namespace gearstalk {
namespace {

constexpr std::uint32_t kDefaultTtr = 120;
constexpr Time kMargin = kSecond;
constexpr Time kPromise = 100 * kMillisecond;
constexpr std::string_view kDefaultTube = "default";

bool Before(const Model::Job& a, const Model::Job& b) {
  return a.priority != b.priority ? a.priority < b.priority : a.id < b.id;
}

}  // namespace

Model::Model(int count, bool wake_all, std::uint32_t job_retries)
    : consumers(static_cast<std::size_t>(count)), wake_all_(wake_all), job_retries_(job_retries) {}

// --- Producing

void Model::Put(Time now, int producer, JobId id, std::uint32_t priority, std::uint32_t ttr_s,
                Time due) {
  Job& job = jobs[id] = {id, consumers[producer].used, priority, ttr_s};
  job.keep_on_failure = true;
  if (due > now) {
    job.state = JobState::kDelayed;
    job.until = due;
  }
  Serve(now, job.tube, job.state == JobState::kReady);
}

std::vector<JobId> Model::Joinable(std::string_view tube, const Key& key) const {
  std::vector<JobId> ids;
  for (const auto& [id, job] : jobs) {
    const bool same = !key.text.empty() && job.tube == tube && job.key == key;
    if (same && job.state != JobState::kBuried) ids.push_back(id);
  }
  return ids;
}

void Model::Submit(Time now, JobId id, std::string_view tube, const Key& key,
                   std::uint32_t priority, int waiter, Time due) {
  Job& job = jobs[id] = {id, std::string(tube), priority, 0};
  job.key = key;
  job.durable = waiter < 0;
  if (waiter >= 0) job.waiters.push_back(waiter);
  if (due > now) {
    job.state = JobState::kDelayed;
    job.until = due;
  }
  Serve(now, job.tube, job.state == JobState::kReady);
}

void Model::Join(JobId id, int waiter) {
  Job& job = jobs.at(id);
  job.unheard = false;
  if (waiter >= 0) {
    job.waiters.push_back(waiter);
  } else {
    job.durable = true;
  }
}

void Model::Forget(int observer) {
  for (auto at = jobs.begin(); at != jobs.end();) {
    Job& job = at->second;
    const bool left = std::erase(job.waiters, observer) > 0;
    const bool alone = left && job.waiters.empty() && !job.durable;
    if (alone && job.state == JobState::kReserved) job.unheard = true;
    at = alone && job.state != JobState::kReserved ? jobs.erase(at) : std::next(at);
  }
  Tidy();
}

// --- Taking

Model::Reserved Model::Reserve(Time now, int consumer, Time deadline, JobId& taken) {
  consumers[consumer].needs_ttr = true;
  bool any_ready = false;
  if (Job* job = Best(consumer, any_ready)) {
    taken = job->id;
    Take(now, *job, consumer);
    return Reserved::kTaken;
  }
  if (!any_ready && FirstDeadline(consumer) - kMargin <= now) return Reserved::kDeadlineSoon;
  if (deadline <= now) return Reserved::kTimedOut;
  BeginWait(consumer, Wait::kReserving, deadline);
  return Reserved::kWaits;
}

bool Model::ReserveJob(Time now, int consumer, JobId id) {
  const auto found = jobs.find(id);
  if (found == jobs.end() || found->second.state == JobState::kReserved) return false;
  consumers[consumer].needs_ttr = true;
  Take(now, found->second, consumer);
  return true;
}

JobId Model::Grab(Time now, int consumer) {
  EndWait(consumer);
  const std::string promised = consumers[consumer].promised;
  Forgo(consumer);
  bool any_ready = false;
  Job* job = Best(consumer, any_ready);
  if (job != nullptr) Take(now, *job, consumer);
  const JobId id = job == nullptr ? 0 : job->id;
  if (!promised.empty()) Serve(now, promised, false);
  return id;
}

void Model::Sleep(Time now, int consumer) {
  EndWait(consumer);
  DropPromise(now, consumer);
  BeginWait(consumer, Wait::kSleeping, kNever);
  bool any_ready = false;
  if (const Job* job = Best(consumer, any_ready)) Wake(now, consumer, job->tube);
}

void Model::Take(Time now, Job& job, int consumer) {
  Become(job, JobState::kReserved);
  job.holder = consumer;
  const std::uint32_t ttr_s = job.ttr_s > 0 ? job.ttr_s : kDefaultTtr;
  if (consumers[consumer].needs_ttr || job.ttr_s > 0) job.until = After(now, ttr_s);
  if (const Watched* watch = FindWatch(consumer, job.tube); watch && watch->run_limit > 0) {
    job.run_limit = now + watch->run_limit;
    job.until = std::min(job.until, job.run_limit);
  }
}

// --- By the holder

Model::Job* Model::HeldBy(int consumer, JobId id) {
  const auto found = jobs.find(id);
  const bool held = found != jobs.end() && found->second.state == JobState::kReserved &&
                    found->second.holder == consumer;
  return held ? &found->second : nullptr;
}

bool Model::Delete(int consumer, JobId id) {
  const auto found = jobs.find(id);
  if (found == jobs.end()) return false;
  const bool held = found->second.state == JobState::kReserved;
  if (held && found->second.holder != consumer) return false;
  Finish(found->second, held ? What::kCompleted : What::kFailed);
  return true;
}

bool Model::Release(Time now, int consumer, JobId id, std::uint32_t priority,
                    std::uint32_t delay_s) {
  Job* job = HeldBy(consumer, id);
  if (job == nullptr) return false;
  if (job->unheard) {
    Finish(*job, What::kFailed);
    return true;
  }
  job->priority = priority;
  if (delay_s == 0) {
    GetReady(now, *job);
    return true;
  }
  Become(*job, JobState::kDelayed);
  job->until = After(now, delay_s);
  return true;
}

bool Model::Bury(int consumer, JobId id, std::uint32_t priority) {
  Job* job = HeldBy(consumer, id);
  if (job == nullptr) return false;
  job->priority = priority;
  BuryJob(*job, What::kFailed);
  return true;
}

bool Model::Touch(Time now, int consumer, JobId id) {
  Job* job = HeldBy(consumer, id);
  if (job != nullptr) RestartTtr(now, *job);
  return job != nullptr;
}

bool Model::Report(Time now, int consumer, JobId id) {
  Job* job = HeldBy(consumer, id);
  if (job == nullptr) return false;
  RestartTtr(now, *job);
  for (const int waiter : job->waiters) told.push_back({waiter, What::kProgress, id});
  return true;
}

bool Model::Complete(int consumer, JobId id) {
  Job* job = HeldBy(consumer, id);
  if (job != nullptr) Finish(*job, What::kCompleted);
  return job != nullptr;
}

bool Model::Fail(int consumer, JobId id, What what) {
  Job* job = HeldBy(consumer, id);
  if (job != nullptr) FailJob(*job, what);
  return job != nullptr;
}

void Model::RestartTtr(Time now, Job& job) {
  if (job.ttr_s == 0 && !consumers[job.holder].needs_ttr) return;
  job.until = std::min(After(now, job.ttr_s > 0 ? job.ttr_s : kDefaultTtr), job.run_limit);
}

void Model::Become(Job& job, JobState state) {
  job.state = state;
  job.holder = -1;
  job.until = job.run_limit = kNever;
}

void Model::GetReady(Time now, Job& job) {
  Become(job, JobState::kReady);
  Serve(now, job.tube, true);
}

void Model::GiveBack(Time now, Job& job, bool lost_try) {
  if (job.unheard) {
    jobs.erase(job.id);
    Tidy();
    return;
  }
  if (lost_try && ++job.lost_tries >= job_retries_ && job_retries_ > 0) {
    return FailJob(job, What::kFailed);
  }
  GetReady(now, job);
}

void Model::Tell(Job& job, What what) {
  for (const int waiter : job.waiters) told.push_back({waiter, what, job.id});
  job.waiters.clear();
}

void Model::Finish(Job& job, What what) {
  Tell(job, what);
  jobs.erase(job.id);
  Tidy();
}

void Model::BuryJob(Job& job, What what) {
  Become(job, JobState::kBuried);
  job.burial = next_burial_++;
  job.unheard = false;
  Tell(job, what);
}

void Model::FailJob(Job& job, What what) {
  if (job.keep_on_failure) {
    BuryJob(job, what);
  } else {
    Finish(job, what);
  }
}

// --- Administration

bool Model::Cancel(JobId id) {
  const auto found = jobs.find(id);
  if (found == jobs.end()) return false;
  Finish(found->second, What::kFailed);
  return true;
}

int Model::Kick(Time now, int consumer, int bound) {
  const std::string tube = consumers[consumer].used;
  const auto next = [&](JobState state) {
    Job* first = nullptr;
    for (auto& [id, job] : jobs) {
      if (job.tube != tube || job.state != state) continue;
      const bool earlier =
          first == nullptr ||
          (state == JobState::kBuried ? job.burial < first->burial : job.until < first->until);
      if (earlier) first = &job;
    }
    return first;
  };
  const JobState from = next(JobState::kBuried) ? JobState::kBuried : JobState::kDelayed;
  int count = 0;
  for (; count < bound; ++count) {
    Job* job = next(from);
    if (job == nullptr) break;
    Become(*job, JobState::kReady);
  }
  Serve(now, tube, false);
  return count;
}

bool Model::KickJob(Time now, JobId id) {
  const auto found = jobs.find(id);
  if (found == jobs.end()) return false;
  const JobState state = found->second.state;
  if (state != JobState::kBuried && state != JobState::kDelayed) return false;
  GetReady(now, found->second);
  return true;
}

bool Model::Pause(Time now, const std::string& tube, std::uint32_t seconds) {
  if (!Exists(tube)) return false;
  paused.erase(tube);
  if (seconds > 0) paused[tube] = After(now, seconds);
  Serve(now, tube, false);
  return true;
}

// --- Tubes

bool Model::Exists(std::string_view tube) const {
  if (tube == kDefaultTube) return true;
  for (const Consumer& consumer : consumers) {
    if (consumer.used == tube) return true;
    for (const Watched& watch : consumer.watched) {
      if (watch.tube == tube) return true;
    }
  }
  return std::any_of(jobs.begin(), jobs.end(),
                     [&](const auto& entry) { return entry.second.tube == tube; });
}

void Model::Tidy() {
  std::erase_if(paused, [&](const auto& entry) { return !Exists(entry.first); });
}

void Model::Use(int consumer, std::string_view tube) {
  consumers[consumer].used = tube;
  Tidy();
}

Model::Watched* Model::FindWatch(int consumer, std::string_view tube) {
  for (Watched& watch : consumers[consumer].watched) {
    if (watch.tube == tube) return &watch;
  }
  return nullptr;
}

const Model::Watched* Model::FindWatch(int consumer, std::string_view tube) const {
  return const_cast<Model*>(this)->FindWatch(consumer, tube);
}

void Model::Watch(Time now, int consumer, std::string_view tube, Time run_limit) {
  if (FindWatch(consumer, tube) == nullptr) {
    consumers[consumer].watched.push_back({std::string(tube)});
  }
  FindWatch(consumer, tube)->run_limit = run_limit;
  if (consumers[consumer].wait != Wait::kNone) Serve(now, std::string(tube), false);
}

bool Model::Ignore(Time now, int consumer, std::string_view tube, bool may_be_last) {
  std::vector<Watched>& watched = consumers[consumer].watched;
  Watched* watch = FindWatch(consumer, tube);
  if (watch == nullptr) return true;
  if (watched.size() == 1 && !may_be_last) return false;
  if (consumers[consumer].promised == tube) DropPromise(now, consumer);
  *watch = watched.back();
  watched.pop_back();
  Tidy();
  return true;
}

int Model::RunningOf(int consumer, std::string_view tube) const {
  return static_cast<int>(std::count_if(jobs.begin(), jobs.end(), [&](const auto& entry) {
    const Job& job = entry.second;
    return job.state == JobState::kReserved && job.holder == consumer && job.tube == tube;
  }));
}

void Model::Unable(Time now, int consumer, std::string_view tube) {
  if (FindWatch(consumer, tube) == nullptr) return;
  const std::string name(tube);
  Ignore(now, consumer, name, true);
  for (const JobId id : HeldInOrder(consumer)) {
    if (jobs.at(id).tube == name) GiveBack(now, jobs.at(id), false);
  }
}

void Model::ResetAbilities(Time now, int consumer) {
  while (!consumers[consumer].watched.empty()) {
    Unable(now, consumer, consumers[consumer].watched.back().tube);
  }
}

void Model::Leave(Time now, int consumer) {
  EndWait(consumer);
  DropPromise(now, consumer);
  for (const JobId id : HeldInOrder(consumer)) GiveBack(now, jobs.at(id), true);
  consumers[consumer] = {};
  Tidy();
}

// --- Who waits

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

Model::Job* Model::Best(int consumer, bool& any_ready) {
  Job* best = nullptr;
  for (const Watched& watch : consumers[consumer].watched) {
    Job* front = BestIn(watch.tube);
    if (front == nullptr) continue;
    any_ready = true;
    if (paused.contains(watch.tube)) continue;
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
