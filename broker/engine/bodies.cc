#include "broker/engine/bodies.h"

#include <utility>

#include "broker/base/log.h"
#include "broker/engine/consumer.h"
#include "broker/engine/groups.h"
#include "broker/engine/tube.h"

namespace gearstalk {

Bodies::~Bodies() {
  for (auto& [id, reading] : coming_) {
    while (!reading->waits.empty()) reading->waits.front().Drop();
  }
}

void Bodies::SetLimit(std::uint64_t bytes) {
  const std::uint64_t limit = journal_.KeepsBodies() ? bytes : 0;
  if (limit == limit_) return;
  limit_ = counts_.limit = limit;
  // What came before was not noted: its record is on disk with the last put's.
  unsafe_until_ = last_put_;
  if (limit_ == 0) fresh_.clear();
  hand_ = 0;
  credit_ += 2 * jobs_.size();
}

// --- What is in memory ---------------------------------------------------------------------------

void Bodies::CountBody(const Job& job, int change) {
  const auto one = static_cast<std::uint64_t>(change);
  const std::uint64_t bytes = one * job.body_size();
  (job.has_body() ? counts_.in_memory : counts_.in_journal) += one;
  (job.has_body() ? counts_.memory_bytes : counts_.journal_bytes) += bytes;
  if (job.has_body() && job.durable) movable_bytes_ += bytes;
}

void Bodies::OnPut(const Job& job, Lsn lsn) {
  last_put_ = lsn;
  if (job.id() < last_id_) unsafe_until_ = lsn;  // a job that was not durable before
  last_id_ = std::max(last_id_, job.id());
  if (limit_ == 0 || !job.HasBlock()) return;
  fresh_.push_back({job.id(), lsn});
  credit_ += kStepsOfABody;
}

void Bodies::OnReplayed(Job& job) {
  if (Over()) LetGoIfFree(job);
}

bool Bodies::LetGoIfFree(Job& job) {
  if (!job.BodyMayLeave()) return false;
  LeaveMemory(job);
  return true;
}

void Bodies::LeaveMemory(Job& job) {
  job.DropBlock();
  --counts_.in_memory;
  counts_.memory_bytes -= job.body_size();
  movable_bytes_ -= job.body_size();
  ++counts_.in_journal;
  counts_.journal_bytes += job.body_size();
}

// False: there is no memory.
bool Bodies::ComeToMemory(Job& job, std::string_view body) {
  if (job.has_body()) return true;
  if (!job.TryFillBlock(body)) return false;
  if (job.state() == JobState::kGone) return true;  // it has left the engine
  ++counts_.in_memory;
  counts_.memory_bytes += job.body_size();
  movable_bytes_ += job.body_size();
  --counts_.in_journal;
  counts_.journal_bytes -= job.body_size();
  credit_ += kStepsOfABody;
  return true;
}

// --- What leaves ---------------------------------------------------------------------------------

bool Bodies::NeededSoon(const Job& job) const {
  if (limit_ == 1 || job.state() != JobState::kReady) return false;
  const Tube& tube = job.tube();
  if (tube.ready() <= kAhead) return true;
  const Job* const next = tube.groups() == nullptr ? tube.NextReady() : tube.groups()->front();
  return next != nullptr && job.id() < next->id() + kAhead;
}

Time Bodies::Tick(Time now, bool full) {
  full_ = full;
  int steps = kSteps;
  if (limit_ > 0) {
    PassFresh(steps);
    MoveHand(steps);
    // What was read ahead may exceed the limit a little, or it would go before it is taken.
    const std::uint64_t ahead = limit_ == 1 ? 0 : kAheadBytes;
    if (full_ || counts_.memory_bytes > limit_ + ahead) PassBrought();
  }
  if (failed_ > 0) TryAgain(now);
  const bool more = steps <= 0 && Over() && credit_ > 0;
  return more ? now : failed_ > 0 ? now + kReadAgain : kNever;
}

void Bodies::PassFresh(int& steps) {
  const Lsn on_disk = journal_.OnDisk();
  for (; steps > 0 && !fresh_.empty() && fresh_.front().lsn <= on_disk; --steps) {
    Job* const job = Over() ? jobs_.Find(fresh_.front().id) : nullptr;
    // With many short tubes all would be needed soon.
    const bool much = full_ || counts_.memory_bytes > limit_ + limit_ / 16 + kAheadBytes;
    if (job != nullptr && (much || !NeededSoon(*job))) LetGoIfFree(*job);
    fresh_.pop_front();
  }
}

// Goes round among the jobs whose records are on disk.
void Bodies::MoveHand(int& steps) {
  if (journal_.OnDisk() < unsafe_until_) return;
  const JobId end = fresh_.empty() ? UINT64_MAX : fresh_.front().id;
  for (; steps > 0 && credit_ > 0 && Over(); --steps, --credit_) {
    Job* const job = jobs_.Next(hand_);
    if (job == nullptr || job->id() >= end) {
      if (hand_ == 0) return;
      hand_ = 0;
      strict_ = true;
      continue;
    }
    hand_ = job->id();
    if (strict_ || !NeededSoon(*job)) LetGoIfFree(*job);
  }
  if (!Over()) strict_ = false;
}

void Bodies::PassBrought() {
  for (std::size_t left = std::min<std::size_t>(brought_.size(), kSteps); left > 0 && Over();
       --left) {
    const JobId id = brought_.front();
    brought_.pop_front();
    Job* const job = jobs_.Find(id);
    if (job == nullptr || !job->has_body() || LetGoIfFree(*job)) continue;
    brought_.push_back(id);  // it is referenced
  }
}

void Bodies::LetGo(BodyWait& wait) {
  Job* const job = wait.job();
  const bool goes = job != nullptr && job->state() != JobState::kGone && Over();
  wait.Drop();
  if (goes) LetGoIfFree(*job);
}

// What is gone again leaves the list from the front; the hand finds what is forgotten.
void Bodies::NoteBrought(JobId id) {
  brought_.push_back(id);
  for (int i = 0; i < 2; ++i) {
    const Job* const job = jobs_.Find(brought_.front());
    if (job != nullptr && job->has_body() && brought_.size() < kMostBrought) return;
    brought_.pop_front();
    if (brought_.empty()) return;
  }
}

// --- What comes back -----------------------------------------------------------------------------

void Bodies::Bring(Job& job, BodyWait& wait, BodyUse use, bool taken) {
  wait.Drop();
  wait.job_ = Job::Ref(job);
  wait.state_ = job.has_body() ? BodyWait::State::kHere : BodyWait::State::kComing;
  if (job.has_body()) return;
  if (use == BodyUse::kReply) ++counts_.waits;
  Ask(job, use);
  Reading& reading = *coming_.find(job.id())->second;
  reading.taken |= taken;
  reading.waits.push_back(wait);
  if (use == BodyUse::kQuery) ExpectAfter(job.id());
}

void Bodies::BringToCompare(Job& job, ComparisonPtr& compared, Consumer* producer) {
  if (compared == nullptr) compared = std::make_unique<Comparison>(producer);
  if (compared->done() < Comparison::kMost) Bring(job, *compared, BodyUse::kReply);
}

void Bodies::Ask(const Job& job, BodyUse use) {
  const auto [known, added] = coming_.try_emplace(job.id());
  if (added) {
    known->second = std::make_unique<Reading>();
    known->second->job = Job::Ref(const_cast<Job&>(job));
    coming_bytes_ += job.body_size();
  }
  Reading& reading = *known->second;
  // What is read ahead comes next.
  const bool sooner = use == BodyUse::kReply && reading.use > BodyUse::kAhead;
  if (!added && (!sooner || reading.again != kNever)) return;
  reading.use = use;
  journal_.Fetch(job.id(), use);
}

void Bodies::BringToKick(const Job& job) {
  Ask(job, BodyUse::kQuery);
  coming_.find(job.id())->second->kicks = true;
}

// Whoever reads bodies for a query mostly goes on by id.
void Bodies::ExpectAfter(JobId id) {
  for (std::size_t steps = 0; steps < kExpected && coming_bytes_ < kAheadBytes; ++steps) {
    const Job* const job = jobs_.Next(id);
    if (job == nullptr) return;
    id = job->id();
    if (!job->has_body()) Ask(*job, BodyUse::kQuery);
  }
}

void Bodies::BringNext(Tube& tube) {
  if (tube.until_look_ahead > 0) {
    --tube.until_look_ahead;
    return;
  }
  // What is read ahead for many tubes in turn would leave again before it is taken.
  tube.looked_ahead = static_cast<std::uint16_t>(
      std::clamp<std::size_t>(2 * tube.looked_ahead, kFirstAhead, kAhead));
  tube.until_look_ahead = tube.looked_ahead / 2;
  std::uint64_t bytes = 0;
  std::vector<const Job*> wanted;
  tube.VisitNext(JobState::kReady, tube.looked_ahead, [&](const Job& job) {
    bytes += job.body_size();
    if (!job.has_body() && (wanted.empty() || bytes <= kAheadBytes)) wanted.push_back(&job);
  });
  if (bytes > kAheadBytes) {
    tube.until_look_ahead = static_cast<std::uint16_t>(wanted.size() / 2);
  }
  const std::uint64_t most = std::min<std::uint64_t>(kComingBytes, limit_ / 4 + kAheadBytes);
  for (const Job* const job : wanted) {
    if (coming_bytes_ + job->body_size() > most) break;
    Ask(*job, BodyUse::kAhead);
  }
}

// The compaction has found a damaged body, as it does again until the job is gone.
std::optional<Bodies::Found> Bodies::UnaskedDamage(JobId id, const BodyRead& read) {
  Job* const job = jobs_.Find(id);
  if (read.result != BodyRead::Result::kDamaged || job == nullptr || job->has_body()) return {};
  const bool rests = job->state() == JobState::kBuried && IsDamaged(*job);
  if (job->state() == JobState::kReserved || rests) return {};
  NoteDamage(id, read);
  return Found{Job::Ref(*job), true, false};
}

void Bodies::NoteDamage(JobId id, const BodyRead& read) {
  ++counts_.damaged;
  Log(LogLevel::kError, "a body is damaged", {{"job", id}, {"why", read.problem}});
}

std::optional<Bodies::Found> Bodies::OnRead(Time now, JobId id, const BodyRead& read) {
  const auto found = coming_.find(id);
  if (found == coming_.end()) return UnaskedDamage(id, read);
  Reading& reading = *found->second;
  if (reading.again != kNever) return std::nullopt;  // an answer to an earlier question
  Job& job = *reading.job;
  BodyRead::Result result = read.result;
  if (result == BodyRead::Result::kWhole && read.body.size() != job.body_size()) {
    result = BodyRead::Result::kDamaged;
  }
  if (result == BodyRead::Result::kWhole && !ComeToMemory(job, read.body)) {
    result = BodyRead::Result::kFailed;
  }
  if (result == BodyRead::Result::kFailed && !reading.waits.empty()) {
    const bool new_trouble = trouble_.empty();
    trouble_ = read.problem.empty() ? "there is no memory for a body" : read.problem;
    if (new_trouble) Log(LogLevel::kError, "a body cannot be read", {{"why", trouble_}});
    reading.again = now + kReadAgain;
    failed_ += reading.failed ? 0 : 1;
    reading.failed = true;
    return std::nullopt;
  }
  const std::unique_ptr<Reading> done = Leave(id);
  if (result == BodyRead::Result::kFailed) return std::nullopt;
  ++counts_.reads;
  counts_.read_bytes += read.body.size();
  counts_.read_times.Add(read.took);
  const bool whole = result == BodyRead::Result::kWhole;
  if (!whole) NoteDamage(id, read);
  Finish(*done, whole ? BodyWait::State::kHere : BodyWait::State::kDamaged);
  if (whole) NoteBrought(id);
  if (whole && !done->kicks) return std::nullopt;
  return Found{std::move(done->job), !whole, done->taken};
}

void Bodies::TryAgain(Time now) {
  std::vector<JobId> gone;
  for (auto& [id, reading] : coming_) {
    if (reading->again > now) continue;
    reading->again = kNever;
    if (reading->waits.empty() || reading->job->state() == JobState::kGone) {
      gone.push_back(id);
    } else {
      journal_.Fetch(id, reading->use);
    }
  }
  for (const JobId id : gone) Finish(*Leave(id), BodyWait::State::kDamaged);
}

// It is no longer coming.
std::unique_ptr<Bodies::Reading> Bodies::Leave(JobId id) {
  const auto found = coming_.find(id);
  std::unique_ptr<Reading> reading = std::move(found->second);
  coming_.erase(found);
  coming_bytes_ -= reading->job->body_size();
  failed_ -= reading->failed ? 1 : 0;
  if (failed_ == 0) trouble_.clear();
  return reading;
}

void Bodies::Finish(Reading& reading, BodyWait::State state) {
  while (!reading.waits.empty()) {
    BodyWait& wait = reading.waits.front();
    wait.unlink();
    wait.state_ = state;
    wait.OnBody();
  }
}

void Comparison::NoteDone() {
  if (job() != nullptr) done_.push_back(Job::Ref(*job()));
  Drop();
}

bool Comparison::IsDone(const Job& with) const {
  return std::any_of(done_.begin(), done_.end(),
                     [&](const JobPtr& job) { return job.get() == &with; });
}

void Comparison::OnBody() {
  if (producer_ != nullptr) producer_->OnCompared();
}

std::string Bodies::Check() const {
  BodyCounts found;
  std::uint64_t movable = 0;
  for (const Job* job = jobs_.Next(0); job != nullptr; job = jobs_.Next(job->id())) {
    if (!job->HasBlock()) continue;
    const bool here = job->has_body(), moves = job->durable;
    if (!here && !moves) return "the body of job " + std::to_string(job->id()) + " is nowhere";
    ++(here ? found.in_memory : found.in_journal);
    (here ? found.memory_bytes : found.journal_bytes) += job->body_size();
    if (here && moves) movable += job->body_size();
  }
  const bool same = found.in_memory == counts_.in_memory &&
                    found.in_journal == counts_.in_journal &&
                    found.memory_bytes == counts_.memory_bytes &&
                    found.journal_bytes == counts_.journal_bytes && movable == movable_bytes_;
  return same ? "" : "bodies are counted wrong";
}

bool BodyQuery::Knows(Time now, const Job& job) {
  if (job.has_body()) return true;
  if (this->job() != &job) {
    bodies_.LetGo(*this);
    bodies_.Bring(const_cast<Job&>(job), *this, BodyUse::kQuery);
    asked_ = now;
  }
  return !coming();
}

}  // namespace gearstalk
