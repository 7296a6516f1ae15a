// The state changes. Live verbs and replay both go through the Enter... functions here, and the
// record of a change is made from the state after it.

#include "broker/engine/store.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gearstalk {
namespace {

// `limits.maxqueue` overrides the policy's max_jobs.
MaxQueue MaxQueueIn(const EngineLimits& limits, const Tube& tube) {
  const auto found = limits.max_queue.find(tube.name());
  if (found != limits.max_queue.end()) return found->second;
  return PolicyOf(tube).max_jobs;
}

}  // namespace

JobStore::JobStore(const EngineOptions& of, Journal& to)
    : options(of),
      journal(to),
      persistent(to.Persistent()),
      idle_functions(of.idle_functions),
      ready(of.fair) {
  // The default tube is permanent, as in beanstalkd.
  TubeNamed("default").permanent_ = true;
}

JobStore::~JobStore() {
  for (Job* job = jobs.Next(0); job != nullptr; job = jobs.Next(0)) {
    waiters.Drop(*job);
    LeaveState(*job);
    FreeKey(*job);
    grouping.ForgetHome(*job);
    Grouping::Part(*job);
    jobs.Erase(job->id());
    JobUnref::Drop(job);
  }
}

// --- Jobs ----------------------------------------------------------------------------------------

void JobStore::Insert(JobId id, JobPtr&& job, Tube& tube) {
  job->id_ = id;
  job->place = &tube;
  tube.job_bytes_ += job->memory();
  TakeKey(*job);
  bodies.OnInsert(*job);
  Job* owned = job.release();
  jobs.Insert(id, owned);
}

void JobStore::MoveTo(Job& job, Tube& tube, std::string_view origin) {
  ++moves;
  FreeKey(job);
  job.tube().job_bytes_ -= job.memory();
  ++tube.using_count;  // a dead job that goes home may have been all that kept the tube
  if (!origin.empty() && Grouping::HasOldPlace(job)) grouping.Rejoin(job);
  if (Group* const home = GroupOf(job); home != nullptr && !origin.empty()) {
    grouping.SetHome(job, *home);
  } else {
    grouping.ForgetHome(job);
  }
  Grouping::Part(job);
  --tube.using_count;
  job.place = &tube;
  tube.job_bytes_ += job.memory();
  if (!origin.empty() || !job.origin().empty()) {
    job.MakeTexts().origin = origin;
    job.extra_->key_free = !origin.empty();
  }
  TakeKey(job);
}

// What few jobs have: a waiting job may expire, and a dead one is among the failures in any state.
void JobStore::EnterRest(Job& job) {
  expiries.Await(job);
  if (!job.origin().empty()) failures.Add(job);
}

void JobStore::LeaveRest(Job& job) {
  expiries.Forget(job);
  if (!job.origin().empty()) failures.Remove(job);
}

void JobStore::EnterReady(Job& job) {
  Tube& tube = job.tube();
  job.state_ = JobState::kReady;
  if (tube.ready_size_++ == 0) ready.Add(tube);
  if (Grouping::IsGrouped(job)) {
    grouping.EnterState(ticked, job);
  } else {
    Queue(job);
  }
  CountQueued(job, 1);
  ++totals.ready;
  if (job.priority < kNormalFrom) {
    ++tube.urgent_;
    ++totals.urgent;
  }
  if (job.OwnRest() != nullptr) EnterRest(job);
}

void JobStore::EnterDelayed(Job& job, Time due) {
  job.state_ = JobState::kDelayed;
  job.tube().delayed_.Push(due, &job);
  if (Grouping::IsGrouped(job)) grouping.EnterState(ticked, job);
  CountQueued(job, 1);
  ++totals.delayed;
  if (job.OwnRest() != nullptr) EnterRest(job);
  if (job.extra().retrying) {
    ++job.tube().MakeState().retrying;
    ++totals.retrying;
  }
  ArmTube(job.tube());
}

void JobStore::EnterBuried(Job& job, std::uint64_t burial) {
  job.state_ = JobState::kBuried;
  FreeKey(job);
  job.MakeExtra().burial = burial;
  next_burial = std::max(next_burial, burial + 1);
  if (records.replaying()) {
    job.tube().buried_.Insert(&job, records.InsertBuried(job));
  } else {
    job.tube().buried_.PushBack(&job);
  }
  if (Grouping::IsGrouped(job)) grouping.EnterState(ticked, job);
  ++job.tube().buried_size_;
  ++totals.buried;
  totals.dead += !job.origin().empty();
  failures.Add(job);
  retention.Note(job.tube());
}

void JobStore::EnterReserved(Time now, Time deadline, Job& job, Consumer& consumer) {
  job.state_ = JobState::kReserved;
  job.link_.held.holder = &consumer;
  job.link_.held.taken_s = static_cast<std::uint32_t>(now / kSecond);
  consumer.held_jobs().Push(deadline, &job);
  if (const Policy* policy = job.tube().policy();
      policy != nullptr && policy->unique_until_start && policy->unique != Policy::Unique::kNone) {
    FreeKey(job);
    job.MakeExtra().key_free = true;
  }
  if (Grouping::IsGrouped(job)) {
    grouping.EnterState(now, job);
    if (Group* const group = GroupOf(job)) job.tube().groups_->NoteHandOut(now, job, *group);
  }
  ++job.tube().reserved_;
  ++totals.reserved;
  if (!job.origin().empty()) failures.Add(job);
}

void JobStore::LeaveState(Job& job) {
  Tube& tube = job.tube();
  const bool grouped = job.place.group() != nullptr;
  if (grouped && job.state_ != JobState::kGone) grouping.LeaveState(job);
  switch (job.state_) {
    case JobState::kReady:
      if (!grouped) tube.ready_.Remove(&job);
      CountQueued(job, -1);
      --totals.ready;
      if (job.priority < kNormalFrom) {
        --tube.urgent_;
        --totals.urgent;
      }
      if (--tube.ready_size_ == 0) ready.Remove(tube);
      if (job.OwnRest() != nullptr) LeaveRest(job);
      break;
    case JobState::kDelayed:
      tube.delayed_.Remove(&job);
      CountQueued(job, -1);
      --totals.delayed;
      if (job.OwnRest() != nullptr) LeaveRest(job);
      if (job.extra_ != nullptr && std::exchange(job.extra_->retrying, false)) {
        --tube.state_->retrying;
        --totals.retrying;
      }
      break;
    case JobState::kBuried:
      failures.Remove(job);
      tube.buried_.Remove(&job);
      if (records.replaying()) records.RemoveBuried(job);
      TakeKey(job);
      --tube.buried_size_;
      --totals.buried;
      totals.dead -= !job.origin().empty();
      break;
    case JobState::kReserved:
      job.link_.held.holder->held_jobs().Remove(&job);
      --tube.reserved_;
      --totals.reserved;
      if (job.extra_ != nullptr) {
        if (!job.origin().empty()) failures.Remove(job);
        if (JobRest* const rest = job.OwnRest()) {
          rest->run_limit = kNever;
          rest->numerator = rest->denominator = 0;
        }
        if (job.extra_->key_free && job.origin().empty()) {
          job.extra_->key_free = false;
          TakeKey(job);
        }
      }
      if (tube.held_back == HeldBack::kRunning) pace.NoteFreed(tube);
      break;
    case JobState::kGone:
      break;
  }
  job.state_ = JobState::kGone;
}

void JobStore::Erase(Job& job) {
  LeaveState(job);
  FreeKey(job);
  grouping.ForgetHome(job);
  Grouping::Part(job);
  bodies.OnErase(job);
  jobs.Erase(job.id_);
  Tube& tube = job.tube();
  tube.job_bytes_ -= job.memory();
  JobUnref::Drop(&job);
  ReleaseTube(tube);
}

void JobStore::PlaceBuried(Job& job, Job& next) {
  job.tube().buried_.Remove(&job);
  job.tube().buried_.Insert(&job, &next);
}

void JobStore::SetDurable(Job& job, bool durable) {
  bodies.OnErase(job);
  job.durable = durable;
  bodies.OnInsert(job);
}

// --- Their records -------------------------------------------------------------------------------

Code JobStore::AcceptsNew(std::uint64_t body) const {
  if (journal.Disk().low) return Code::kDiskLow;
  return AcceptsWhole(body) ? Code::kOk : Code::kJournal;
}

Lsn JobStore::AppendEnd(const Job& job, Finish::Kind kind) {
  const Policy* const policy = job.tube().policy();
  const bool remembers = kind == Finish::Kind::kCompleted && policy != nullptr &&
                         policy->unique != Policy::Unique::kNone && policy->unique_for > 0 &&
                         UniqueIndex::HasKey(job);
  const Lsn lsn = remembers ? seen.Remember(job, Later(job.created, policy->unique_for))
                            : Append(job, Record::Kind::kDelete);
  grouping.HoldLine(job, lsn);
  return lsn;
}

void JobStore::DropUndurable() {
  const Lsn durable = journal.Durable();
  ids.DropUndurable(durable);
  records.TakeUndurable(durable, [this](Job& job) {
    if (job.rest().waiters.empty()) {
      Erase(job);
    } else {
      SetDurable(job, false);
    }
  });
}

// --- Tubes ---------------------------------------------------------------------------------------

Tube& JobStore::MakeTube(std::string_view name) {
  Tube& tube = tubes.Make(name);
  tube.settings.max_queue = ConfiguredMaxQueue(tube);
  tube.function = idle_functions.Remove(name);
  if (!policies.rules().empty()) policies.Resolve(tube);
  return tube;
}

Tube& JobStore::TubeNamed(std::string_view name) {
  Tube* const found = tubes.Find(name);
  return found == nullptr ? MakeTube(name) : *found;
}

Tube* JobStore::MakeTubeInLimits(std::string_view name) {
  if (limits.tubes > 0 && tubes.size() >= limits.tubes) return nullptr;
  if (TablesFull()) return nullptr;
  return &MakeTube(name);
}

void JobStore::EraseIfEmpty(Tube& tube) {
  if (tube.unfinished() > 0 || tube.buried() > 0) return;
  if (tube.groups_ != nullptr && !tube.groups_->empty()) return;
  if (tube.permanent_ || tube.settings.created_function) return;
  if (tube.settings.max_queue != ConfiguredMaxQueue(tube)) return;
  if (TubePolicies::Keeps(tube)) {
    const Time paced = tube.policy_state().paced;
    if (paced != 0) deadlines.Arm(tube, paced);
    return;
  }
  if (tube.paused()) {
    // The pause ends with the tube: a replay must not bring it back.
    tube.settings.pause_until = tube.settings.pause_s = 0;
    pauses.Note(tube);
    records.AppendSettings(tube);
  }
  deadlines.Cancel(tube);
  pace.Forget(tube);
  records.Forget(tube);
  if (tube.function) idle_functions.Add(ticked, tube.name());
  tubes.Erase(tube);
}

MaxQueue JobStore::ConfiguredMaxQueue(std::string_view name) const {
  if (const Tube* const tube = tubes.Find(name)) return ConfiguredMaxQueue(*tube);
  const auto found = limits.max_queue.find(name);
  if (found != limits.max_queue.end()) return found->second;
  const PolicyRules& rules = policies.rules();
  return rules.empty() ? MaxQueue{} : rules.Of(name, {}).max_jobs;
}

MaxQueue JobStore::ConfiguredMaxQueue(const Tube& tube) const { return MaxQueueIn(limits, tube); }

TubeSettings JobStore::OwnSettings(const Tube& tube) const {
  TubeSettings own = tube.settings;
  if (own.max_queue == ConfiguredMaxQueue(tube)) own.max_queue = {};
  return own;
}

void JobStore::ArmTube(Tube& tube) {
  deadlines.Arm(tube, tube.next_due());
  if (tube.paused()) deadlines.Arm(tube, tube.settings.pause_until);
  pauses.Note(tube);
}

bool JobStore::Full(const Tube& tube, std::uint32_t priority) const {
  const std::int64_t limit = tube.settings.max_queue[static_cast<std::size_t>(BandOf(priority))];
  return limit > 0 && tube.unfinished() >= static_cast<std::uint64_t>(limit);
}

// --- Limits --------------------------------------------------------------------------------------

void JobStore::SetLimits(EngineLimits to) {
  const EngineLimits before = std::exchange(limits, std::move(to));
  bodies.SetLimit(limits.bodies);
  std::uint64_t last = 0;
  while (Tube* const tube = tubes.Next(last)) {
    last = tube->id();
    MaxQueue& most = tube->settings.max_queue;
    if (most == MaxQueueIn(before, *tube)) most = ConfiguredMaxQueue(*tube);
    ReleaseTube(*tube);
  }
}

bool JobStore::ExceedsMemory() const {
  // A body that may leave is no reason.
  const std::size_t stays = JobMemory() - bodies.movable_bytes();
  return stays + TableMemory() + memory_beside > limits.memory;
}

}  // namespace gearstalk
