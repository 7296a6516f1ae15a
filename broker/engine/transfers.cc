#include "broker/engine/transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/base/check.h"
#include "broker/engine/dispatch.h"
#include "broker/engine/live_records.h"
#include "broker/engine/store.h"

namespace gearstalk {

using transfer::Mark;
using transfer::MarkedJob;
using transfer::OutcomeKind;

namespace {

// Ids and burials of the journal lie below it.
constexpr std::uint64_t kMostId = std::uint64_t{1} << 61;

// Ids of a source lie below it, so that those of later puts stay below the spare ones.
constexpr JobId kMostForeignId = kFirstSpareId / 2;

// The kind of a transfer whose held jobs are the broker's own.
constexpr std::string_view kHandBack = "hand-back";

// Whether a replay would take the job: a tool can send anything.
bool Storable(const Record& job) {
  return job.unique.size() <= Job::kMaxUnique && job.burial <= kMostId && job.due >= 0 &&
         job.created >= 0 && job.failure.ended >= 0 && job.expires >= 0;
}

// Where the job stands among those that were buried here; 0: its source does not say it, or the
// number is too high for the journal.
std::uint64_t BurialIn(const Mark& mark, std::uint64_t burial) {
  const std::uint64_t here = mark.burial_base + burial;
  return burial == 0 || here > kMostId ? 0 : here;
}

// The change of a job, of a record that has all of it.
Record ChangeOf(Record record) {
  record.kind = Record::Kind::kChange;
  record.tube = record.unique = record.reducer = record.body = record.put_key = {};
  return record;
}

}  // namespace

Transfers::~Transfers() {
  while (!held_.empty()) Lose(held_.begin());
}

void Transfers::Release() {
  if (--users_ == 0) imported_burials_.clear();
}

const Mark* Transfers::Find(std::string_view name) const {
  const auto found = marks_.find(name);
  return found == marks_.end() ? nullptr : &found->second;
}

bool Transfers::CanKeepIds(std::uint64_t smallest, std::uint64_t next) const {
  return store_.ids.next() <= smallest && next <= kMostForeignId;
}

Code Transfers::Admits(const Record& job) const {
  if (!Storable(job)) return Code::kInvalid;
  if (store_.draining) return Code::kDraining;
  if (store_.MemoryFull()) return Code::kOutOfMemory;
  return store_.AcceptsNew(job.body.size());
}

bool Transfers::IsTaken(JobId id) const {
  const bool too_high = id > kMostId || (id >= kMostForeignId && id < kFirstSpareId);
  return too_high || store_.jobs.Find(id) != nullptr || held_.contains(id);
}

Lsn Transfers::AppendMark(std::string_view name, const Mark& mark) {
  const std::string text = mark.Encode();
  return store_.journal.Append(
      {.kind = Record::Kind::kMark, .transfer = {.name = name, .mark = text}});
}

Transfers::Change Transfers::Begin(std::string_view name, Mark mark, std::uint64_t next_id,
                                   std::uint64_t burials) {
  if (!store_.journal.Accepts(Record::Kind::kPut)) return {Code::kJournal};
  if (const Change raised = RaiseNextId(next_id); !raised.ok()) return raised;
  mark.whole = true;
  mark.burial_base = store_.next_burial - 1;
  store_.next_burial += std::min(burials, kMostId - std::min(kMostId, store_.next_burial));
  const Lsn lsn = AppendMark(name, mark);
  marks_.insert_or_assign(std::string(name), std::move(mark));
  return {Code::kOk, 0, lsn};
}

Transfers::Change Transfers::Advance(std::string_view name, Mark change) {
  const auto mark = marks_.find(name);
  if (mark == marks_.end()) return {Code::kNotFound};
  if (change.settled > 0 && change.settled != mark->second.settled + 1) {
    return {Code::kNotIgnored};
  }
  if (!store_.journal.Accepts(Record::Kind::kPut)) return {Code::kJournal};
  const Lsn lsn = AppendMark(name, change);
  mark->second.Advance(std::move(change));
  return {Code::kOk, 0, lsn};
}

// The job that a submit of this one would join. It may have to wait for its body.
Job* Transfers::Known(const Record& job, ComparisonPtr* compared) const {
  if (StillWaits(compared)) return nullptr;
  if (job.state == Record::State::kBuried) return nullptr;
  const std::string_view key = job.unique_is_body ? job.body : job.unique;
  const Tube* const tube = key.empty() ? nullptr : store_.tubes.Find(job.tube);
  if (tube == nullptr) return nullptr;
  if (!job.unique_is_body || key.size() < Job::kBlockFrom) {
    return store_.uniques.Find(*tube, key, job.unique_is_body);
  }
  const BodyHash hash = HashOfBody(key);
  const Comparison* const known = compared == nullptr ? nullptr : compared->get();
  const auto match = store_.uniques.FindEqual(
      *tube, View(hash), true, key,
      [known](const Job& cold) { return known != nullptr && known->IsDone(cold); });
  if (match.equal != nullptr || match.cold == nullptr) return match.equal;
  if (compared == nullptr) return match.cold;
  store_.bodies.BringToCompare(*match.cold, *compared, nullptr);
  return nullptr;
}

// Its tube takes no jobs without a group, and it has none.
bool Transfers::LacksGroup(const Record& job) {
  Tube& tube = store_.TubeNamed(job.tube);
  const Groups* const groups = tube.groups();
  GroupNameSpace space;
  const bool lacks = groups != nullptr && tube.policy()->group_refuses_missing &&
                     GroupName(groups->source(), job.body,
                               job.unique_is_body ? std::string_view() : job.unique, space)
                         .empty();
  store_.ReleaseTube(tube);
  return lacks;
}

Transfers::Change Transfers::Refuse(std::string_view name, const Record& job, Mark change,
                                    std::string_view key, OutcomeKind kind, std::string text) {
  change.jobs.clear();
  change.jobs.push_back({.key = std::string(key),
                         .tube = std::string(job.tube),
                         .job = job.id,
                         .kind = kind,
                         .text = std::move(text)});
  change.moved = 0;
  return Advance(name, std::move(change));
}

Transfers::Change Transfers::Put(Time now, std::string_view name, const Record& given,
                                 std::string_view key, Mark change, ComparisonPtr* compared) {
  if (const Code code = Admits(given); code != Code::kOk) return {store_.CountRefused(code)};
  const auto mark = marks_.find(name);
  if (mark == marks_.end()) return {Code::kNotFound};
  if (change.settled > 0 && change.settled != mark->second.settled + 1) return {Code::kNotIgnored};
  Record job = given;
  const Job* const known = Known(job, compared);
  if (compared != nullptr && Waits(*compared)) return {};
  if (known != nullptr) {
    job.id = known->id();
    return Refuse(name, job, std::move(change), key, OutcomeKind::kJoined,
                  fmt::format("job {} has the same key", known->id()));
  }
  if (IsTaken(job.id)) {
    return Refuse(name, job, std::move(change), key, OutcomeKind::kRefused,
                  fmt::format("the id {} is taken", job.id));
  }
  if (LacksGroup(job)) {
    store_.CountRefused(Code::kGroupMissing);
    return Refuse(name, job, std::move(change), key, OutcomeKind::kRefused,
                  "its tube takes no jobs without a group");
  }
  job.kind = Record::Kind::kPut;
  if (job.id == 0) job.id = store_.ids.Take(true);
  if (job.created == 0) job.created = now;
  if (job.state == Record::State::kDelayed && job.due <= now) job.state = Record::State::kReady;
  if (job.state != Record::State::kDelayed) job.due = 0;
  if (job.state == Record::State::kBuried) {
    job.burial = BurialIn(mark->second, job.burial);
    if (job.burial == 0) job.burial = store_.next_burial;
  }
  change.moved = 1;
  for (MarkedJob& marked : change.jobs) marked.job = job.id;
  const std::string text = change.Encode();
  job.transfer.name = name;
  job.transfer.mark = text;
  const Lsn lsn = store_.journal.Append(job);
  mark->second.Advance(std::move(change));
  if (lsn > 0) store_.records.NoteUnsynced(job.id, lsn);
  Appear(now, job, lsn);
  return {Code::kOk, job.id, lsn};
}

// Adds the job as a new one and serves it at once.
void Transfers::Appear(Time now, const Record& record, Lsn lsn) {
  records_.ApplyPut(record);
  Job& job = *store_.jobs.Find(record.id);
  store_.bodies.OnPut(job, lsn);
  Tube& tube = job.tube();
  ++store_.moves;
  store_.Count(tube, &JobCounts::total_jobs);
  store_.grouping.HoldLine(job, lsn);
  if (job.state() == JobState::kBuried) PlaceBuried(job);
  if (job.state() == JobState::kReady) dispatch_.Serve(now, tube, &job);
}

// EnterBuried put the job last. Jobs that the source buried after it may be there already: moves it
// before them. A job that hand-back gives back was the oldest before the one that is that now.
void Transfers::PlaceBuried(Job& job) {
  const Job& oldest = *job.tube().NextBuried();
  imported_burials_.try_emplace({job.tube().id(), oldest.extra().burial}, oldest.id());
  const auto at =
      imported_burials_.insert_or_assign({job.tube().id(), job.extra().burial}, job.id()).first;
  for (auto next = std::next(at);
       next != imported_burials_.end() && next->first.first == job.tube().id();) {
    Job* const later = store_.jobs.Find(next->second);
    if (later != nullptr && later->state() == JobState::kBuried &&
        later->extra().burial == next->first.second) {
      JobStore::PlaceBuried(job, *later);
      return;
    }
    next = imported_burials_.erase(next);  // kicked or deleted meanwhile
  }
}

Transfers::Change Transfers::Hold(std::string_view name, const Record& given) {
  if (const Code code = Admits(given); code != Code::kOk) return {code};
  if (!marks_.contains(name)) return {Code::kNotFound};
  Record job = given;
  job.kind = Record::Kind::kPut;
  if (job.id == 0 || IsTaken(job.id)) job.id = store_.ids.Take(true);
  store_.ids.NoteTaken(job.id);
  job.transfer.name = name;
  const Lsn lsn = store_.journal.Append(job);
  Keep(job.id, job, name);
  return {Code::kOk, job.id, lsn};
}

std::map<JobId, Transfers::Held>::iterator Transfers::FindHeld(std::string_view name, JobId id) {
  const auto found = held_.find(id);
  return found == held_.end() || found->second.transfer != name ? held_.end() : found;
}

void Transfers::Keep(JobId id, const Record& record, std::string_view name) {
  Record kept = record;
  kept.transfer.mark = {};  // that of a put with its mark
  Held held{OwnedRecord(kept), std::string(name), 0};
  held.memory = sizeof(Held) + held.record.text_size();
  Lose(held_.find(id));
  CountJobMemory(static_cast<std::ptrdiff_t>(held.memory));
  ++held_of_[held.transfer];
  held_.emplace(id, std::move(held));
}

bool Transfers::Lose(std::map<JobId, Held>::iterator held) {
  if (held == held_.end()) return false;
  CountJobMemory(-static_cast<std::ptrdiff_t>(held->second.memory));
  const auto count = held_of_.find(held->second.transfer);
  if (--count->second == 0) held_of_.erase(count);
  held_.erase(held);
  return true;
}

Transfers::Change Transfers::Confirm(std::string_view name, JobId id) {
  const auto held = FindHeld(name, id);
  if (held == held_.end()) return {Code::kNotFound};
  if (!store_.journal.Accepts(Record::Kind::kChange)) return {Code::kJournal};
  held->second.record.SetPhase(Record::Held::kSecondPhase);
  const Record record = ChangeOf(held->second.record.View());
  return {Code::kOk, id, store_.journal.Append(record)};
}

Transfers::Change Transfers::Commit(Time now, std::string_view name, JobId id,
                                    ComparisonPtr* compared) {
  const auto found = FindHeld(name, id);
  if (found == held_.end()) return {Code::kNotFound};
  if (!store_.journal.Accepts(Record::Kind::kChange)) return {Code::kJournal};
  // A job that hand-back held comes back as it was, even if its key was taken meanwhile.
  const Record held = found->second.record.View();
  const bool own = marks_.at(std::string(name)).kind == kHandBack;
  const Job* const known = own ? nullptr : Known(held, compared);
  if (compared != nullptr && Waits(*compared)) return {};
  if (known != nullptr) {
    Record joined = held;
    joined.id = known->id();
    const Change refused =
        Refuse(name, joined, {}, held.unique_is_body ? "-" : held.unique, OutcomeKind::kJoined,
               fmt::format("job {} has the same key", known->id()));
    return refused.ok() ? Drop(name, id) : refused;
  }
  const OwnedRecord owned = std::move(found->second.record);
  Lose(found);
  Record job = owned.View();
  job.transfer.held = Record::Held::kNot;
  job.transfer.settled = true;
  if (job.state == Record::State::kDelayed && job.due <= now) {
    job.state = Record::State::kReady;
    job.due = 0;
  }
  if (job.state == Record::State::kBuried && job.burial == 0) job.burial = store_.next_burial;
  const Lsn lsn = store_.journal.Append(ChangeOf(job));
  job.transfer = {};
  Appear(now, job, lsn);
  return {Code::kOk, id, lsn};
}

Transfers::Change Transfers::Drop(std::string_view name, JobId id) {
  const auto held = FindHeld(name, id);
  if (held == held_.end()) return {Code::kNotFound};
  if (!store_.journal.Accepts(Record::Kind::kDelete)) return {Code::kJournal};
  Lose(held);
  return {Code::kOk, id, store_.journal.Append({.kind = Record::Kind::kDelete, .id = id})};
}

Transfers::Change Transfers::HoldBack(std::string_view name, JobId id) {
  Job* const job = store_.jobs.Find(id);
  if (job == nullptr || !job->durable || job->state() == JobState::kReserved ||
      !job->rest().waiters.empty() || !Grouping::MayLeaveLine(*job)) {
    return {Code::kNotFound};
  }
  if (!marks_.contains(name)) return {Code::kNotFound};
  if (!store_.journal.Accepts(Record::Kind::kChange)) return {Code::kJournal};
  GS_CHECK(job->has_body());
  Tube& tube = job->tube();
  ++tube.using_count;
  const std::optional<std::string> line = Grouping::LineOf(*job);
  TakeOut(*job, name, Record::Held::kFirstPhase);
  const Record record = ChangeOf(held_.at(id).record.View());
  const Lsn lsn = store_.journal.Append(record);
  store_.grouping.HoldLine(tube, line, lsn);
  --tube.using_count;
  store_.ReleaseTube(tube);
  return {Code::kOk, id, lsn};
}

Transfers::Change Transfers::RaiseNextId(JobId id) {
  if (id <= store_.ids.next() || id > kMostForeignId) return {};
  if (!store_.journal.Accepts(Record::Kind::kNextId)) return {Code::kJournal};
  store_.ids.TakeRecorded(id);
  return {Code::kOk, 0, store_.journal.Append(NextIdRecord(id))};
}

Transfers::Change Transfers::SetTube(const Record& settings) {
  const TubeSettings& set = settings.settings;
  if (set.pause_until < 0) return {Code::kInvalid};
  if (!store_.journal.Accepts(Record::Kind::kTube)) return {Code::kJournal};
  Tube& tube = store_.TubeNamed(settings.tube);
  TubeSettings& known = tube.settings;
  known.created_function |= set.created_function;
  if (set.max_queue != MaxQueue{}) known.max_queue = set.max_queue;
  if (set.pause_until != 0) {
    known.pause_until = set.pause_until;
    known.pause_s = set.pause_s;
  }
  store_.ArmTube(tube);
  const Lsn lsn = store_.records.AppendSettings(tube);
  store_.ReleaseTube(tube);
  return {Code::kOk, 0, lsn};
}

Transfers::Change Transfers::Forget(std::string_view name) {
  const auto mark = marks_.find(name);
  if (mark == marks_.end()) return {Code::kNotFound};
  if (HeldOf(name) > 0) return {Code::kInUse};
  if (!store_.journal.Accepts(Record::Kind::kDelete)) return {Code::kJournal};
  marks_.erase(mark);
  return {Code::kOk, 0,
          store_.journal.Append(
              {.kind = Record::Kind::kMark, .transfer = {.name = name, .settled = true}})};
}

void Transfers::Describe(const Job& job, Record& record) const { store_.records.Fill(job, record); }

TubeSettings Transfers::SettingsOf(const Tube& tube) const { return store_.OwnSettings(tube); }

const Transfers::Held* Transfers::NextHeld(JobId after) const {
  const auto next = held_.upper_bound(after);
  return next == held_.end() ? nullptr : &next->second;
}

const Mark* Transfers::NextMark(std::string& name) const {
  const auto next = marks_.upper_bound(name);
  if (next == marks_.end()) return nullptr;
  name = next->first;
  return &next->second;
}

std::size_t Transfers::HeldOf(std::string_view name) const {
  const auto count = held_of_.find(name);
  return count == held_of_.end() ? 0 : count->second;
}

std::string Transfers::Check() const {
  std::map<std::string, std::size_t, std::less<>> counted;
  for (const auto& [id, held] : held_) {
    if (store_.jobs.Find(id) != nullptr) return fmt::format("job {} is held and queued", id);
    if (!marks_.contains(held.transfer)) return fmt::format("held job {} has no transfer", id);
    ++counted[held.transfer];
  }
  if (counted != held_of_) return "held jobs are counted wrong";
  return "";
}

}  // namespace gearstalk
