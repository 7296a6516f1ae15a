#include "admin/api/operations.h"

#include <algorithm>
#include <utility>

#include "admin/api/answers.h"

namespace gearstalk::api {
namespace {

constexpr int kActs = 16;  // in a slice
constexpr std::uint64_t kPartOfJournal = 32;
constexpr std::string_view kActionNames[] = {"delete", "kick", "bury", "release", "move", "copy"};
constexpr std::string_view kAuditActions[] = {"job.delete",  "job.kick", "job.bury",
                                              "job.release", "job.move", "job.copy"};
constexpr std::string_view kStateNames[] = {"counting", "counted", "running", "done",
                                            "stopped",  "failed",  "expired"};

}  // namespace

std::string_view NameOf(Operation::Action action) {
  return kActionNames[static_cast<std::size_t>(action)];
}

std::string_view NameOf(Operation::State state) {
  return kStateNames[static_cast<std::size_t>(state)];
}

Operation::Operation(Engine& engine, Audit& audit, std::uint64_t id, Order order, Time now)
    : engine_(engine),
      audit_(audit),
      id_(id),
      order_(std::move(order)),
      walk_(std::in_place, engine, order_.filter, order_.caller.grant,
            JobWalk::Begin(engine, order_.filter), false),
      as_of_(walk_->place().as_of),
      created_(now),
      changed_(now) {}

// Clients have to wait when too much waits to be written; an operation waits long before that. A
// journal that accepts nothing refuses the act, which ends the operation.
bool Operation::JournalIsBehind() const {
  const JournalReports& journal = engine_.journal();
  const JournalStats stats = journal.Stats();
  if (stats.failed || stats.full) return false;
  return journal.WaitingBytes() > journal.MostWaiting() / kPartOfJournal;
}

bool Operation::RunSlice(Time now) {
  if (state_ == State::kRunning && JournalIsBehind()) return true;
  ++version_;
  if (state_ == State::kCounting) Count(now);
  if (state_ == State::kRunning) Act(now);
  if (!active()) walk_.reset();
  return active();
}

void Operation::Stop(Time now) {
  End(State::kStopped, now);
  walk_.reset();
}

void Operation::Count(Time now) {
  walk_->Slice(now, UINT64_MAX, [this](const Job&) {
    ++count_;
    return true;
  });
  scanned_ = walk_->scanned();
  if (walk_->Late(now)) return GiveUp(now);
  if (!walk_->ended()) return;
  state_ = State::kCounted;
  changed_ = now;
}

void Operation::Confirm(const Caller& caller, std::string_view request_id, Time now) {
  ++version_;
  order_.caller = caller;
  order_.request_id = request_id;
  state_ = State::kRunning;
  changed_ = now;
  JobWalk::Place place = JobWalk::Begin(engine_, order_.filter);
  place.as_of = as_of_;
  walk_.emplace(engine_, order_.filter, order_.caller.grant, place, order_.action == Action::kCopy);
  Record("ok", count_, now);
}

void Operation::Act(Time now) {
  if (copy_ != nullptr) {
    const Code code = PutCopy(now);
    if (copy_ != nullptr) return now - copy_since_ > kBodyPatience ? GiveUp(now) : void();
    NoteEnd(code, now);
    if (EndIfAll(now)) return;
  }
  int acts = 0;
  std::size_t bytes = 0;  // of jobs that are copied, or written anew
  walk_->Slice(now, UINT64_MAX, [&](const Job& job) {
    const bool whole = order_.action == Action::kMove || order_.action == Action::kCopy;
    bytes += whole ? job.body_size() : 0;
    const Code code = Apply(job, now);
    if (copy_ != nullptr) return false;  // it is to be compared first
    NoteEnd(code, now);
    return state_ == State::kRunning && done_ + skipped_ + failed_ < count_ && ++acts < kActs &&
           bytes < JobWalk::kBodyBytes;
  });
  scanned_ = walk_->scanned();
  if (walk_->Late(now)) return GiveUp(now);
  EndIfAll(now);
}

bool Operation::EndIfAll(Time now) {
  const bool all = done_ + skipped_ + failed_ >= count_ || walk_->ended();
  if (state_ == State::kRunning && copy_ == nullptr && all) End(State::kDone, now);
  return state_ != State::kRunning;
}

// Of one job.
void Operation::NoteEnd(Code code, Time now) {
  switch (code) {
    case Code::kOk:
      ++done_;
      break;
    case Code::kNotFound:
      ++skipped_;
      break;
    default:
      ++failed_;
      if (!problem_) problem_ = RefusalOf(code, order_.to);
      // Every further job would be refused, too.
      if (code != Code::kQueueFull) End(State::kFailed, now);
  }
}

void Operation::GiveUp(Time now) {
  problem_ = NoDisk();
  End(State::kFailed, now);
}

// kNotFound: the action does not apply to a job in this state.
Code Operation::Apply(const Job& job, Time now) {
  Outcome outcome;
  const JobId id = job.id();
  switch (order_.action) {
    case Action::kDelete:
      outcome = engine_.Cancel(now, id);
      break;
    case Action::kKick:
      outcome = engine_.KickJob(now, id);
      break;
    case Action::kBury:
      outcome = engine_.Bury(id, std::nullopt, /*force=*/true);
      break;
    case Action::kRelease:
      outcome = engine_.TakeBack(now, id, 0);
      break;
    case Action::kMove:
      outcome = engine_.Move(now, id, order_.to);
      break;
    case Action::kCopy: {
      if (!job.has_body()) return Code::kNotFound;  // it is damaged
      copy_to_ = order_.to.empty() ? job.tube().name() : order_.to;
      copy_ = CopyOf(job);
      if (copy_ == nullptr) return engine_.RefuseBody();
      copy_since_ = now;
      return PutCopy(now);
    }
  }
  lsn_ = std::max(lsn_, outcome.lsn);
  return outcome.code;
}

// The copy stays if it has to be compared with a job whose body is read.
Code Operation::PutCopy(Time now) {
  if (Waits(compared_)) return Code::kOk;
  const Added added = engine_.PutInto(now, copy_to_, std::move(copy_), &compared_);
  if (Waits(compared_)) return Code::kOk;
  compared_.reset();
  lsn_ = std::max(lsn_, added.lsn);
  return added.code;
}

void Operation::End(State state, Time now) {
  compared_.reset();
  copy_.reset();
  const bool ran = state_ == State::kRunning;
  ++version_;
  state_ = state;
  ended_at_ = changed_ = now;
  if (!ran) return;
  Record(state == State::kDone     ? "ok"
         : state == State::kFailed ? problem_->code
                                   : std::string_view("stopped"),
         done_, now);
}

void Operation::Record(std::string_view result, std::uint64_t count, Time now) {
  struct Act act {
    .action = kAuditActions[static_cast<std::size_t>(order_.action)],
    .tube = order_.filter.tube().value_or(""), .filter = Dump(order_.told), .count = count
  };
  audit_.Add(order_.caller, act, result, order_.request_id, now);
}

Json Operation::Object() const {
  return {{"id", id_},
          {"action", NameOf(order_.action)},
          {"filter", order_.told},
          {"to", TextOrNull(order_.to)},
          {"state", NameOf(state_)},
          {"count", OrNull(state_ != State::kCounting, count_)},
          {"done", done_},
          {"skipped", skipped_},
          {"failed", failed_},
          {"scanned", scanned_},
          {"as_of_id", as_of_},
          {"user", TextOrNull(order_.caller.user)},
          {"created_at", Timestamp(created_)},
          {"ended_at", TimeOrNull(ended_at_)},
          {"problem", problem_ ? DocumentOf(*problem_, order_.request_id) : Json()}};
}

bool Operations::Busy() const {
  const auto active =
      std::count_if(all_.begin(), all_.end(), [](const auto& each) { return each->active(); });
  return static_cast<std::size_t>(active) >= kActive;
}

Operation* Operations::Begin(Operation::Order order, Time now) {
  if (Busy()) return nullptr;
  if (all_.size() >= kKept) {
    const auto idle =
        std::find_if(all_.begin(), all_.end(), [](const auto& each) { return !each->active(); });
    all_.erase(idle);
  }
  all_.push_back(std::make_unique<Operation>(engine_, audit_, ++last_id_, std::move(order), now));
  slices_.Add(*all_.back());
  return all_.back().get();
}

bool Operations::Confirm(Operation& operation, const Caller& caller, std::string_view request_id,
                         Time now) {
  if (Busy()) return false;
  operation.Confirm(caller, request_id, now);
  slices_.Add(operation);
  return true;
}

void Operations::Stop(Operation& operation, Time now) {
  slices_.Remove(operation);
  operation.Stop(now);
}

Operation* Operations::Find(std::uint64_t id) const {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const auto& each) { return each->id() == id; });
  return found == all_.end() ? nullptr : found->get();
}

void Operations::Tick(Time now) {
  for (const auto& each : all_) {
    if (each->state() != Operation::State::kCounted) continue;
    if (each->changed() + kConfirmWithin <= now) each->Expire(now);
  }
}

}  // namespace gearstalk::api
