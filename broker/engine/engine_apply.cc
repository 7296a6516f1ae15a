// The state changes. Live verbs and replay both go through the Enter... functions here, and the
// record of a change is made from the state after it.

#include <algorithm>
#include <utility>

#include "broker/engine/engine.h"

namespace gearstalk {

void Engine::Insert(JobPtr job, Tube& tube) {
  job->tube_ = &tube;
  if (UniqueIndex::HasKey(*job)) uniques_.Insert(*job);
  Job* owned = job.release();
  jobs_.Insert(owned->id_, owned);
}

void Engine::CountQueued(const Job& job, int change) {
  job.tube_->queued_by_band_[static_cast<std::size_t>(BandOf(job.priority))] +=
      static_cast<std::uint32_t>(change);
}

void Engine::EnterReady(Job& job) {
  Tube& tube = *job.tube_;
  job.state_ = JobState::kReady;
  if (tube.ready_.empty()) {
    tube.stirred_slot_ = static_cast<std::uint32_t>(stirred_.size());
    stirred_.push_back(&tube);
  }
  tube.ready_.Push(&job);
  if (tube.ready_.front() == &job) fresh_.Note(tube);
  CountQueued(job, 1);
  ++totals_.ready;
  if (job.priority < kNormalFrom) {
    ++tube.urgent_;
    ++totals_.urgent;
  }
}

void Engine::EnterDelayed(Job& job, Time due) {
  job.state_ = JobState::kDelayed;
  job.tube_->delayed_.Push(due, &job);
  CountQueued(job, 1);
  ++totals_.delayed;
  ArmTube(*job.tube_);
}

void Engine::EnterBuried(Job& job, std::uint64_t burial) {
  job.state_ = JobState::kBuried;
  if (UniqueIndex::HasKey(job)) uniques_.Remove(job);
  job.MakeExtra().burial = burial;
  next_burial_ = std::max(next_burial_, burial + 1);
  job.tube_->buried_.PushBack(&job);
  ++job.tube_->buried_size_;
  ++totals_.buried;
}

void Engine::EnterReserved(Time deadline, Job& job, Consumer& consumer) {
  job.state_ = JobState::kReserved;
  job.link_.held.holder = &consumer;
  consumer.held_.Push(deadline, &job);
  ++job.tube_->reserved_;
  ++totals_.reserved;
  ArmConsumer(consumer);
}

void Engine::LeaveState(Job& job) {
  Tube& tube = *job.tube_;
  switch (job.state_) {
    case JobState::kReady:
      tube.ready_.Remove(&job);
      CountQueued(job, -1);
      --totals_.ready;
      if (job.priority < kNormalFrom) {
        --tube.urgent_;
        --totals_.urgent;
      }
      if (tube.ready_.empty()) {
        stirred_[tube.stirred_slot_] = stirred_.back();
        stirred_[tube.stirred_slot_]->stirred_slot_ = tube.stirred_slot_;
        stirred_.pop_back();
      }
      break;
    case JobState::kDelayed:
      tube.delayed_.Remove(&job);
      CountQueued(job, -1);
      --totals_.delayed;
      break;
    case JobState::kBuried:
      tube.buried_.Remove(&job);
      if (UniqueIndex::HasKey(job)) uniques_.Insert(job);
      --tube.buried_size_;
      --totals_.buried;
      break;
    case JobState::kReserved:
      job.link_.held.holder->held_.Remove(&job);
      --tube.reserved_;
      --totals_.reserved;
      if (job.extra_ != nullptr) {
        job.extra_->run_limit = kNever;
        job.extra_->numerator = job.extra_->denominator = 0;
      }
      break;
    case JobState::kGone:
      break;
  }
  job.state_ = JobState::kGone;
}

void Engine::Erase(Job& job) {
  LeaveState(job);
  if (UniqueIndex::HasKey(job)) uniques_.Remove(job);
  jobs_.Erase(job.id_);
  Tube& tube = *job.tube_;
  JobUnref()(&job);
  ReleaseTube(tube);
}

JobId Engine::TakeId(bool recorded) {
  constexpr JobId kBlock = 1024;
  const JobId id = next_id_++;
  if (recorded || !persistent_ || id < ids_recorded_) return id;
  // No record will name this id, so a whole block is recorded as taken.
  ids_recorded_ = id + kBlock;
  Record record;
  record.kind = Record::Kind::kNextId;
  record.id = ids_recorded_;
  const Lsn lsn = journal_.Append(record);
  // A disk in trouble keeps nobody waiting whose job does not need it.
  if (journal_.Accepts(Record::Kind::kNextId)) ids_lsn_ = lsn;
  return id;
}

Lsn Engine::Append(const Job& job, Record::Kind kind) {
  if (!persistent_ || !job.durable_) return 0;
  Record record;
  record.kind = kind;
  record.id = job.id_;
  if (kind != Record::Kind::kDelete) FillRecord(job, record);
  const Lsn lsn = journal_.Append(record);
  if (kind == Record::Kind::kPut) NoteUnsynced(job.id_, lsn);
  return lsn;
}

void Engine::NoteUnsynced(JobId id, Lsn lsn) {
  const Lsn durable = journal_.Durable();
  while (!unsynced_puts_.empty() && unsynced_puts_.front().lsn <= durable) {
    unsynced_puts_.pop_front();
  }
  // Nearly always the last: only a foreground job that becomes durable is older.
  const auto at = std::lower_bound(unsynced_puts_.begin(), unsynced_puts_.end(), id);
  unsynced_puts_.insert(at, {id, lsn});
}

void Engine::DropUndurable() {
  const Lsn durable = journal_.Durable();
  ids_lsn_ = std::min(ids_lsn_, durable);
  for (const UnsyncedPut& put : std::exchange(unsynced_puts_, {})) {
    Job* job = put.lsn > durable ? jobs_.Find(put.job) : nullptr;
    if (job == nullptr) continue;
    if (Waiters(*job) > 0) {
      job->durable_ = false;
    } else {
      Erase(*job);
    }
  }
}

void Engine::FillRecord(const Job& job, Record& record) const {
  record.id = job.id_;
  record.priority = job.priority;
  record.delay_s = job.delay_s;
  const JobExtra& extra = job.extra();
  record.counters = {job.reserves, extra.timeouts, extra.releases,
                     extra.buries, extra.kicks,    extra.lost_tries};
  if (job.state_ == JobState::kDelayed) {
    record.state = Record::State::kDelayed;
    record.due = job.tube_->delayed_.TimeAt(job.link_.held.slot);
  } else if (job.state_ == JobState::kBuried) {
    record.state = Record::State::kBuried;
    record.burial = extra.burial;
  }
  if (record.kind != Record::Kind::kPut) return;
  record.tube = job.tube_->name();
  record.ttr_s = job.ttr_s;
  record.created = job.created;
  record.keep_on_failure = job.keep_on_failure_;
  record.unique_is_body = job.unique_is_body_;
  record.unique = job.unique();
  record.reducer = extra.reducer;
  record.body = job.body();
}

Lsn Engine::AppendSettings(const Tube& tube) {
  if (!persistent_) return 0;
  Record record;
  record.kind = Record::Kind::kTube;
  FillSettings(tube, record);
  recorded_tubes_.insert(tube.id());
  settings_lsn_ = journal_.Append(record);
  return settings_lsn_;
}

void Engine::FillSettings(const Tube& tube, Record& record) const {
  record.tube = tube.name();
  record.created_function = tube.created_function_;
  record.pause_until = tube.pause_until_;
  record.pause_s = tube.pause_s_;
  if (!LimitedByAdmin(tube)) return;
  std::copy(tube.max_queue_.begin(), tube.max_queue_.end(), record.max_queue);
}

Status Engine::Apply(const Record& record) {
  switch (record.kind) {
    case Record::Kind::kPut:
      ApplyPut(record);
      return {};
    case Record::Kind::kTube:
      ApplySettings(record);
      return {};
    case Record::Kind::kNextId:
      next_id_ = std::max(next_id_, record.id);
      ids_recorded_ = std::max(ids_recorded_, record.id);
      return {};
    case Record::Kind::kChange:
    case Record::Kind::kDelete:
      break;
  }
  // The job may be gone already: its deletion can lie in an older segment than a change that was
  // carried forward.
  Job* job = jobs_.Find(record.id);
  if (job == nullptr) return {};
  if (record.kind == Record::Kind::kDelete) {
    Erase(*job);
  } else {
    ApplyState(*job, record);
  }
  return {};
}

void Engine::ApplyPut(const Record& record) {
  if (Job* known = jobs_.Find(record.id)) Erase(*known);  // carried forward: the newer one counts
  JobPtr job = Job::New(static_cast<std::uint32_t>(record.body.size()), record.unique);
  std::copy(record.body.begin(), record.body.end(), job->space().begin());
  job->id_ = record.id;
  job->ttr_s = record.ttr_s;
  job->created = record.created;
  job->durable_ = true;
  job->keep_on_failure_ = record.keep_on_failure;
  job->unique_is_body_ = record.unique_is_body;
  if (!record.reducer.empty()) job->MakeExtra().reducer = record.reducer;
  next_id_ = std::max(next_id_, record.id + 1);
  Job& inserted = *job;
  Insert(std::move(job), TubeNamed(record.tube));
  ApplyState(inserted, record);
}

void Engine::ApplyState(Job& job, const Record& record) {
  LeaveState(job);
  job.priority = record.priority;
  job.delay_s = record.delay_s;
  const Record::Counters& counters = record.counters;
  job.reserves = counters.reserves;
  if (job.extra_ != nullptr || counters.timeouts + counters.releases + counters.buries +
                                       counters.kicks + counters.lost_tries >
                                   0) {
    JobExtra& extra = job.MakeExtra();
    extra.timeouts = counters.timeouts;
    extra.releases = counters.releases;
    extra.buries = counters.buries;
    extra.kicks = counters.kicks;
    extra.lost_tries = counters.lost_tries;
  }
  switch (record.state) {
    case Record::State::kReady:
      EnterReady(job);
      break;
    case Record::State::kDelayed:
      EnterDelayed(job, record.due);
      break;
    case Record::State::kBuried:
      EnterBuried(job, record.burial);
      break;
  }
}

void Engine::ApplySettings(const Record& record) {
  Tube& tube = TubeNamed(record.tube);
  tube.created_function_ = record.created_function;
  tube.pause_until_ = record.pause_until;
  tube.pause_s_ = record.pause_s;
  std::copy(std::begin(record.max_queue), std::end(record.max_queue), tube.max_queue_.begin());
  if (tube.max_queue_ == MaxQueue{}) tube.max_queue_ = ConfiguredMaxQueue(tube.name());
  recorded_tubes_.insert(tube.id());
  ArmTube(tube);
  // Its jobs may come later in the log than its settings: kept until the replay is over.
  ++tube.using_;
  replayed_.push_back(&tube);
}

void Engine::FinishReplay() {
  // Burials may have come back in another order than they happened.
  for (Tube* tube = tubes_.Next(0); tube != nullptr; tube = tubes_.Next(tube->id())) {
    std::vector<Job*> buried;
    while (Job* job = tube->buried_.front()) {
      tube->buried_.Remove(job);
      buried.push_back(job);
    }
    std::sort(buried.begin(), buried.end(),
              [](const Job* a, const Job* b) { return a->extra_->burial < b->extra_->burial; });
    for (Job* job : buried) tube->buried_.PushBack(job);
  }
  for (Tube* tube : replayed_) {
    --tube->using_;
    ReleaseTube(*tube);
  }
  replayed_.clear();
}

bool Engine::Capture(std::uint64_t id, const std::function<void(const Record&)>& emit) {
  const Job* job = jobs_.Find(id);
  if (job == nullptr || !job->durable_) return false;
  Record record;
  FillRecord(*job, record);
  emit(record);
  return true;
}

void Engine::CaptureSettings(const std::function<void(const Record&)>& emit) {
  Record next;
  next.kind = Record::Kind::kNextId;
  next.id = ids_recorded_ = std::max(ids_recorded_, next_id_);
  emit(next);
  std::erase_if(recorded_tubes_, [&](std::uint64_t id) {
    const Tube& tube = *tubes_.FindById(id);
    if (!tube.created_function_ && !tube.paused() && !LimitedByAdmin(tube)) return true;
    Record record;
    record.kind = Record::Kind::kTube;
    FillSettings(tube, record);
    emit(record);
    return false;
  });
}

}  // namespace gearstalk
