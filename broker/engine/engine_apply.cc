// The state changes. Live verbs and replay both go through the Enter... functions here, and the
// record of a change is made from the state after it.

#include <algorithm>
#include <utility>

#include "broker/engine/engine.h"

namespace gearstalk {

void Engine::Insert(JobPtr&& job, Tube& tube) {
  job->tube_ = &tube;
  tube.job_bytes_ += job->memory();
  TakeKey(*job);
  bodies_.OnInsert(*job);
  Job* owned = job.release();
  jobs_.Insert(owned->id_, owned);
}

// A job in no state changes its tube. With an origin it is dead, and its key is free.
void Engine::MoveTo(Job& job, Tube& tube, std::string_view origin) {
  ++moves_;
  FreeKey(job);
  job.tube_->job_bytes_ -= job.memory();
  ++tube.using_;  // a dead job that goes home may have been all that kept the tube
  if (!origin.empty() && HasOldPlace(job)) Rejoin(job);
  if (Group* const home = GroupOf(job); home != nullptr && !origin.empty()) {
    SetHome(job, *home);
  } else {
    ForgetHome(job);
  }
  LeaveGroup(job);
  --tube.using_;
  job.tube_ = &tube;
  tube.job_bytes_ += job.memory();
  if (!origin.empty() || !job.origin().empty()) {
    job.MakeTexts().origin = origin;
    job.extra_->key_free = !origin.empty();
  }
  TakeKey(job);
}

// What few jobs have: a waiting job may expire, and a dead one is among the failures in any state.
void Engine::EnterRest(Job& job) {
  expiries_.Await(job);
  if (!job.origin().empty()) failures_.Add(job);
}

void Engine::LeaveRest(Job& job) {
  expiries_.Forget(job);
  if (!job.origin().empty()) failures_.Remove(job);
}

void Engine::EnterReady(Job& job) {
  Tube& tube = *job.tube_;
  job.state_ = JobState::kReady;
  if (tube.ready_size_++ == 0) dispatch_.ready().Add(tube);
  if (IsGrouped(job)) {
    EnterGroup(ticked_, job);
  } else {
    tube.ready_.Push(&job);
    if (tube.ready_.front() == &job) dispatch_.ready().NoteFront(tube);
  }
  CountQueued(job, 1);
  ++totals_.ready;
  if (job.priority < kNormalFrom) {
    ++tube.urgent_;
    ++totals_.urgent;
  }
  if (job.OwnRest() != nullptr) EnterRest(job);
}

void Engine::EnterDelayed(Job& job, Time due) {
  job.state_ = JobState::kDelayed;
  job.tube_->delayed_.Push(due, &job);
  if (IsGrouped(job)) EnterGroup(ticked_, job);
  CountQueued(job, 1);
  ++totals_.delayed;
  if (job.OwnRest() != nullptr) EnterRest(job);
  if (job.extra().retrying) {
    ++job.tube_->MakeState().retrying;
    ++totals_.retrying;
  }
  ArmTube(*job.tube_);
}

void Engine::EnterBuried(Job& job, std::uint64_t burial) {
  job.state_ = JobState::kBuried;
  FreeKey(job);
  job.MakeExtra().burial = burial;
  next_burial_ = std::max(next_burial_, burial + 1);
  if (records_.replaying()) {
    records_.InsertBuried(job);
  } else {
    job.tube_->buried_.PushBack(&job);
  }
  if (IsGrouped(job)) EnterGroup(ticked_, job);
  ++job.tube_->buried_size_;
  ++totals_.buried;
  totals_.dead += !job.origin().empty();
  failures_.Add(job);
  retention_.Note(*job.tube_);
}

void Engine::EnterReserved(Time now, Time deadline, Job& job, Consumer& consumer) {
  job.state_ = JobState::kReserved;
  job.link_.held.holder = &consumer;
  job.link_.held.taken_s = static_cast<std::uint32_t>(now / kSecond);
  consumer.held_.Push(deadline, &job);
  if (const Policy* policy = job.tube_->policy();
      policy != nullptr && policy->unique_until_start && policy->unique != Policy::Unique::kNone) {
    FreeKey(job);
    job.MakeExtra().key_free = true;
  }
  if (IsGrouped(job)) {
    EnterGroup(now, job);
    if (Group* const group = GroupOf(job)) job.tube_->groups_->NoteHandOut(now, job, *group);
  }
  ++job.tube_->reserved_;
  ++totals_.reserved;
  if (!job.origin().empty()) failures_.Add(job);
  ArmConsumer(consumer);
}

void Engine::LeaveState(Job& job) {
  Tube& tube = *job.tube_;
  const bool grouped = job.tube_.group() != nullptr;
  if (grouped && job.state_ != JobState::kGone) LeaveGroupState(job);
  switch (job.state_) {
    case JobState::kReady:
      if (!grouped) tube.ready_.Remove(&job);
      CountQueued(job, -1);
      --totals_.ready;
      if (job.priority < kNormalFrom) {
        --tube.urgent_;
        --totals_.urgent;
      }
      if (--tube.ready_size_ == 0) dispatch_.ready().Remove(tube);
      if (job.OwnRest() != nullptr) LeaveRest(job);
      break;
    case JobState::kDelayed:
      tube.delayed_.Remove(&job);
      CountQueued(job, -1);
      --totals_.delayed;
      if (job.OwnRest() != nullptr) LeaveRest(job);
      if (job.extra_ != nullptr && std::exchange(job.extra_->retrying, false)) {
        --tube.state_->retrying;
        --totals_.retrying;
      }
      break;
    case JobState::kBuried:
      failures_.Remove(job);
      tube.buried_.Remove(&job);
      if (records_.replaying()) records_.RemoveBuried(job);
      TakeKey(job);
      --tube.buried_size_;
      --totals_.buried;
      totals_.dead -= !job.origin().empty();
      break;
    case JobState::kReserved:
      job.link_.held.holder->held_.Remove(&job);
      --tube.reserved_;
      --totals_.reserved;
      if (job.extra_ != nullptr) {
        if (!job.origin().empty()) failures_.Remove(job);
        if (JobRest* const rest = job.OwnRest()) {
          rest->run_limit = kNever;
          rest->numerator = rest->denominator = 0;
        }
        if (job.extra_->key_free && job.origin().empty()) {
          job.extra_->key_free = false;
          TakeKey(job);
        }
      }
      if (tube.held_back_ == HeldBack::kRunning) pace_.NoteFreed(tube);
      break;
    case JobState::kGone:
      break;
  }
  job.state_ = JobState::kGone;
}

void Engine::Erase(Job& job) {
  LeaveState(job);
  FreeKey(job);
  ForgetHome(job);
  LeaveGroup(job);
  bodies_.OnErase(job);
  jobs_.Erase(job.id_);
  Tube& tube = *job.tube_;
  tube.job_bytes_ -= job.memory();
  JobUnref::Drop(&job);
  ReleaseTube(tube);
}

void Engine::DropUndurable() {
  const Lsn durable = journal_.Durable();
  ids_.DropUndurable(durable);
  records_.TakeUndurable(durable, [this](Job& job) {
    if (Waiters(job) > 0) {
      bodies_.OnErase(job);
      job.durable_ = false;
      bodies_.OnInsert(job);
    } else {
      Erase(job);
    }
  });
}

}  // namespace gearstalk
