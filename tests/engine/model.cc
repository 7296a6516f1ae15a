#include "tests/engine/model.h"

#include <algorithm>
#include <tuple>

namespace gearstalk {
namespace {

constexpr std::uint32_t kDefaultTtr = 120;
constexpr std::string_view kDefaultTube = "default";

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
  job.abandoned = false;
  if (waiter >= 0) {
    // All its waits come one after the other.
    const auto last = std::find(job.waiters.rbegin(), job.waiters.rend(), waiter);
    job.waiters.insert(last == job.waiters.rend() ? job.waiters.end() : last.base(), waiter);
  } else {
    job.durable = true;
  }
}

void Model::Forget(int observer) {
  for (auto at = jobs.begin(); at != jobs.end();) {
    Job& job = at->second;
    const bool left = std::erase(job.waiters, observer) > 0;
    const bool alone = left && job.waiters.empty() && !job.durable;
    if (alone && job.state == JobState::kReserved) job.abandoned = true;
    at = alone && job.state != JobState::kReserved ? jobs.erase(at) : std::next(at);
  }
  Tidy();
}

// --- Taking

Model::Reserved Model::Reserve(Time now, int consumer, Time deadline, JobId& taken) {
  consumers[consumer].needs_ttr = true;
  if (Job* job = Best(consumer)) {
    taken = job->id;
    Take(now, *job, consumer);
    return Reserved::kTaken;
  }
  if (FirstDeadline(consumer) - kMargin <= now) return Reserved::kDeadlineSoon;
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
  Job* job = Best(consumer);
  if (job != nullptr) Take(now, *job, consumer);
  const JobId id = job == nullptr ? 0 : job->id;
  if (!promised.empty()) Serve(now, promised, false);
  return id;
}

void Model::Sleep(Time now, int consumer) {
  EndWait(consumer);
  DropPromise(now, consumer);
  for (auto& [id, job] : jobs) {
    if (job.state != JobState::kReserved || job.holder != consumer || job.run_limit == kNever)
      continue;
    job.until = job.ttr_ends;
    job.run_limit = kNever;
  }
  BeginWait(consumer, Wait::kSleeping, kNever);
  if (const Job* job = Best(consumer)) Wake(now, consumer, job->tube);
}

void Model::Take(Time now, Job& job, int consumer) {
  Become(job, JobState::kReserved);
  job.holder = consumer;
  const std::uint32_t ttr_s = job.ttr_s > 0 ? job.ttr_s : kDefaultTtr;
  if (consumers[consumer].needs_ttr || job.ttr_s > 0) job.until = After(now, ttr_s);
  job.ttr_ends = job.until;
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
  if (job->abandoned) {
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
  job.ttr_ends = After(now, job.ttr_s > 0 ? job.ttr_s : kDefaultTtr);
  job.until = std::min(job.ttr_ends, job.run_limit);
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
  if (ComesBack(job, lost_try)) GetReady(now, job);
}

bool Model::ComesBack(Job& job, bool lost_try) {
  if (job.abandoned) {
    jobs.erase(job.id);
    Tidy();
    return false;
  }
  if (lost_try && ++job.lost_tries >= job_retries_ && job_retries_ > 0) {
    FailJob(job, What::kFailed);
    return false;
  }
  return true;
}

// All are ready before anybody gets one; the most urgent leaves first.
void Model::GiveBackAll(Time now, const std::vector<JobId>& ids, bool lost_try) {
  std::vector<const Job*> ready;
  for (const JobId id : ids) {
    Job& job = jobs.at(id);
    if (!ComesBack(job, lost_try)) continue;
    Become(job, JobState::kReady);
    ready.push_back(&job);
  }
  std::sort(ready.begin(), ready.end(), [](const Job* a, const Job* b) {
    return std::tie(a->priority, a->id) < std::tie(b->priority, b->id);
  });
  for (const Job* job : ready) Serve(now, job->tube, job->state == JobState::kReady);
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
  job.abandoned = false;
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
    if (from == JobState::kBuried) job->lost_tries = 0;
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
  if (state == JobState::kBuried) found->second.lost_tries = 0;
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
  std::vector<JobId> running = HeldInOrder(consumer);
  std::erase_if(running, [&](JobId id) { return jobs.at(id).tube != name; });
  GiveBackAll(now, running, false);
}

void Model::ResetAbilities(Time now, int consumer) {
  DropPromise(now, consumer);
  consumers[consumer].watched.clear();
  Tidy();
  GiveBackAll(now, HeldInOrder(consumer), false);
}

void Model::Leave(Time now, int consumer) {
  EndWait(consumer);
  DropPromise(now, consumer);
  GiveBackAll(now, HeldInOrder(consumer), true);
  consumers[consumer] = {};
  Tidy();
}

}  // namespace gearstalk
