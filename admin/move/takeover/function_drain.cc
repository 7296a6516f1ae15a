#include "admin/move/takeover/function_drain.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "broker/base/clock.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

using transfer::Type;

constexpr std::size_t kLongestAsked = 63;  // GET_STATUS_UNIQUE has no answer to longer ones
constexpr std::size_t kBatchBytes = 16 << 20;
constexpr Time kBatchTime = 100 * kMillisecond;  // so long, results and other functions wait
constexpr int kBusyTries = 120;                  // half a second apart
constexpr std::uint64_t kMany = 1000;            // jobs, from which on counting them takes its time

constexpr std::uint32_t kSubmits[] = {packet::kSubmitHigh, packet::kSubmit, packet::kSubmitLow};

bool CanAsk(std::string_view unique) {
  return !unique.empty() && unique != "-" && unique.size() <= kLongestAsked;
}

}  // namespace

Status FunctionDrain::Begin() {
  worker_ = GS_TRY(GearmanClient::Connect(scope_.options.Old()));
  worker_->Add(packet::kSetClientId, {scope_.client_id});
  worker_->Add(packet::kCanDo, {function_});
  return worker_->Fence();
}

// The old server wakes this connection by a NOOP when it has a job. After two in a row that brought
// none, the job is not for us: then only `status` tells of new ones.
Status FunctionDrain::Sleep() {
  constexpr int kVain = 2;
  if (asleep_ || vain_wakes_ >= kVain) return {};
  worker_->Add(packet::kPreSleep, {});
  asleep_ = true;
  return worker_->Flush();
}

void FunctionDrain::AddEnds(std::vector<pollfd>& ends) const {
  ends.push_back({.fd = worker_->fd(), .events = POLLIN, .revents = 0});
  if (relay_ != nullptr) ends.push_back({.fd = relay_->fd(), .events = POLLIN, .revents = 0});
}

Status FunctionDrain::ReadWakes() {
  for (;;) {
    const Result<Packet> packet = worker_->Next(0);
    if (!packet.ok()) {
      return packet.status().code() == Code::kNotFound ? Status() : packet.status();
    }
    if (packet.value().type != packet::kNoop) continue;
    asleep_ = false;
    ++vain_wakes_;
  }
}

Status FunctionDrain::Drain(std::uint64_t waiting, bool& moved) {
  newest_alike_ = 0;
  const Time end = BootTime() + kBatchTime;
  while (waiting > 0 && BootTime() < end && !scope_.options.stopped() &&
         in_flight() < kMostRelayed && !full()) {
    const std::size_t count = GS_TRY(Batch(std::min<std::uint64_t>({batch_, in_time_, waiting})));
    if (count == 0) break;
    moved = true;
    waiting -= std::min<std::uint64_t>(waiting, count);
    GS_TRY(Pump(moved));
    scope_.report.Progress(scope_.report.done, scope_.report.found_bytes);
  }
  return {};
}

Status FunctionDrain::Pump(bool& moved) {
  GS_TRY(ReadWakes());
  if (relay_ == nullptr) return {};
  bool idle = true;
  GS_TRY(relay_->Pump(idle));
  if (!idle) moved = true;
  const std::uint64_t ended = relay_->ended() - std::exchange(relayed_, relay_->ended());
  for (std::uint64_t i = 0; i < ended; ++i) {
    Record job;
    job.tube = function_;
    scope_.report.Moved(job);
  }
  return {};
}

// It may read over a wake.
Status FunctionDrain::Fence() {
  if (relay_ == nullptr) return {};
  asleep_ = false;
  return worker_->Fence();
}

Result<std::size_t> FunctionDrain::Batch(std::size_t most) {
  if (scope_.table.newest() == 0) GS_TRY(scope_.table.Read(scope_.admin));
  if (newest_alike_ == 0) GS_TRY(Count(in_flight()));
  std::vector<Grabbed> jobs = GS_TRY(Grab(most));
  const std::size_t count = jobs.size();
  GS_TRY(Move(std::move(jobs)));
  return count;
}

Status FunctionDrain::Move(std::vector<Grabbed> jobs) {
  if (jobs.empty()) return {};
  std::vector<Assigned*> assigned;
  assigned.reserve(jobs.size());
  for (Grabbed& job : jobs) assigned.push_back(&job);
  GS_TRY(FixCutKeys(scope_.admin, assigned));
  GS_TRY(Classify(jobs));
  GS_TRY(RelayForeground(jobs));
  if (jobs.empty()) return {};
  GS_TRY(HoldAll(jobs));
  GS_TRY(RelayAwaited(jobs));
  GS_TRY(CompleteAll(jobs));
  return CommitAll(jobs);
}

Status FunctionDrain::ReadHandle(Grabbed& job) {
  Handle handle;
  if (!Handle::Parse(job.handle, handle) || handle.number > HeldHandle::kNumber) {
    return {Code::kIo,
            "the old server gives the handle '" + job.handle + "', expected H:HOST:NUMBER"};
  }
  scope_.prefix = handle.prefix;
  job.number = handle.number;
  return {};
}

Result<std::vector<FunctionDrain::Grabbed>> FunctionDrain::Grab(std::size_t most) {
  std::vector<Grabbed> jobs;
  asleep_ = false;
  for (std::size_t i = 0; i < most; ++i) worker_->Add(packet::kGrabJobAll, {});
  for (std::size_t answers = 0; answers < most;) {
    Packet packet = GS_TRY(worker_->Next());
    if (packet.type == packet::kNoJob) ++answers;
    Grabbed job;
    if (!TakeAssigned(packet, job)) continue;
    ++answers;
    GS_TRY(ReadHandle(job));
    jobs.push_back(std::move(job));
  }
  if (!jobs.empty()) vain_wakes_ = 0;
  ChooseBatch(jobs, most);
  return jobs;
}

// Batches grow while jobs come; large bodies are taken a few at a time.
void FunctionDrain::ChooseBatch(const std::vector<Grabbed>& jobs, std::size_t asked) {
  if (jobs.empty()) return;
  std::size_t bytes = 0;
  for (const Grabbed& job : jobs) bytes += job.body.size();
  const std::size_t fits =
      std::clamp<std::size_t>(kBatchBytes / (bytes / jobs.size() + 1), 1, kMostBatch);
  if (jobs.size() == asked) batch_ *= 2;
  batch_ = std::min(batch_, fits);
}

Result<std::vector<Packet>> FunctionDrain::AskUniques(const std::vector<Grabbed*>& jobs) {
  for (const Grabbed* job : jobs) scope_.admin.Add(packet::kGetStatusUnique, {job->unique});
  std::vector<Packet> answers(jobs.size());
  for (Packet& answer : answers) {
    answer = GS_TRY(scope_.admin.Next());
    if (answer.type != packet::kStatusResUnique) {
      return Status(Code::kIo, "the old server does not answer GET_STATUS_UNIQUE");
    }
  }
  return answers;
}

// Reads how many jobs wait in each class; `ours`: jobs of the function that this tool holds.
// gearmand looks at every job for the answer. If many wait, all in one class, and nobody else holds
// any, every job of the table is of that class, and the tool need not ask again.
Status FunctionDrain::Count(std::uint64_t ours) {
  counts_ = GS_TRY(ReadClasses(scope_.admin, function_));
  if (!counts_) return {};
  const std::uint64_t most = std::max({counts_->high, counts_->normal, counts_->low});
  const bool one_class = most == counts_->high + counts_->normal + counts_->low;
  if (counts_->workers > 1 || !one_class || most < kMany) return {};
  const FunctionStatus now = GS_TRY(ReadFunction(scope_.admin, function_));
  if (now.running != ours) return {};
  newest_alike_ = scope_.table.newest();
  class_alike_ = most == counts_->high ? 0 : most == counts_->normal ? 1 : 2;
  return {};
}

Status FunctionDrain::Classify(std::vector<Grabbed>& jobs) {
  const std::uint64_t newest = std::exchange(newest_alike_, 0);
  const auto alike = [&](const Grabbed& job) { return job.number <= newest; };
  if (!std::all_of(jobs.begin(), jobs.end(), alike)) {
    GS_TRY(ClassifyByCounts(jobs));
  } else {
    const FunctionStatus now = GS_TRY(ReadFunction(scope_.admin, function_));
    shared_ = now.workers > 1;
    if (now.total > kMany) newest_alike_ = newest;
  }
  for (Grabbed& job : jobs) {
    if (!alike(job)) continue;
    job.job_class = class_alike_;
    job.exact = true;
  }
  return {};
}

Status FunctionDrain::ClassifyByCounts(std::vector<Grabbed>& jobs) {
  const auto known = [&](const Grabbed& job) { return scope_.table.Knows(job.number); };
  const bool none_new = std::all_of(jobs.begin(), jobs.end(), known);
  if (!none_new) GS_TRY(scope_.table.Read(scope_.admin));
  const std::optional<ClassCounts> now = GS_TRY(ReadClasses(scope_.admin, function_));
  const ClassCounts before = counts_.value_or(ClassCounts{}), after = now.value_or(ClassCounts{});
  const ClassGuess guess = GuessClasses(before, after, jobs.size(), none_new);
  shared_ = before.workers > 1 || after.workers > 1 || !counts_;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].job_class = guess.ClassOf(i);
    jobs[i].exact = guess.exact && counts_ && now;
  }
  return {};
}

// Takes its body. A job whose client does not wait must not fail for a refusal.
Status FunctionDrain::RelayOne(Grabbed& job, bool background) {
  if (relay_ == nullptr) {
    relay_ = std::make_unique<Relay>(*worker_);
    GS_TRY(relay_->Connect(scope_.options.target));
  }
  relay_->Submit(std::move(static_cast<Assigned&>(job)), kSubmits[job.job_class], background);
  return {};
}

Status FunctionDrain::RelayForeground(std::vector<Grabbed>& jobs) {
  for (Grabbed& job : jobs) {
    if (!scope_.table.IsForeground(job.number)) continue;
    GS_TRY(RelayOne(job, false));
  }
  std::erase_if(jobs, [&](const Grabbed& job) { return scope_.table.IsForeground(job.number); });
  return {};
}

// Numbers of processes and of jobs begin anew with each container, but gearmand forgets the name of
// a function only when it ends.
Status FunctionDrain::NameLife() {
  worker_->Add(packet::kCanDo, {scope_.life});
  worker_->Add(packet::kCantDo, {scope_.life});
  return worker_->Fence();
}

Status FunctionDrain::HoldAll(std::vector<Grabbed>& jobs) {
  // The mark with what a later run needs to settle these jobs goes before them.
  const std::string state = fmt::format("{} {} {}", scope_.life, scope_.client_id, scope_.prefix);
  if (state != scope_.state) {
    GS_TRY(NameLife());
    scope_.broker.Add(Type::kAdvance, transfer::Mark{.state = state});
    scope_.state = state;
  }
  const Classes& classes = scope_.broker.classes();
  const std::uint32_t priorities[] = {classes.high, classes.normal, classes.low};
  const Time now = SystemClock().Now();
  for (Grabbed& each : jobs) {
    Record& job = each.job;
    job.transfer.held = Record::Held::kFirstPhase;
    job.tube = function_;
    job.unique_is_body = each.unique == "-";
    job.unique = job.unique_is_body ? std::string_view() : std::string_view(each.unique);
    job.reducer = each.reducer;
    job.body = each.body;
    job.priority = priorities[each.job_class];
    job.created = now;
    job.transfer.source_id =
        each.number | (each.exact ? 0 : HeldHandle::kGuessed) | (shared_ ? HeldHandle::kShared : 0);
  }
  return SendHolds(jobs);
}

// Tries again for a minute while the broker accepts nothing: gearmand would count the end of this
// connection as a try of its jobs.
Status FunctionDrain::SendHolds(std::vector<Grabbed>& jobs) {
  std::size_t held = 0;
  for (int tries = 1;; ++tries) {
    for (std::size_t i = held; i < jobs.size(); ++i) {
      scope_.broker.Add(Type::kHold, jobs[i].job);
    }
    GS_TRY(scope_.broker.SendSync());
    const transfer::Ack ack = GS_TRY(scope_.broker.ReadAck());
    for (const std::uint64_t id : ack.ids) {
      if (held < jobs.size()) jobs[held++].here = id;
    }
    if (ack.problem == transfer::Problem::kNone) break;
    const bool busy = ack.problem == transfer::Problem::kBusy;
    if (!busy || tries == kBusyTries || scope_.options.stopped()) return AsStatus(ack);
    ::usleep(500'000);
  }
  return held == jobs.size() ? Status() : Status(Code::kIo, "the broker held other jobs");
}

// Whether somebody else is connected to the old server.
Result<bool> FunctionDrain::SeesOthers() {
  const std::vector<std::string> lines = GS_TRY(scope_.admin.Admin("workers"));
  const std::string ours = " " + scope_.client_id + " :";
  return !std::all_of(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.find(ours) != std::string::npos;
  });
}

// Background jobs that a client has joined. gearmand takes long to find a key among many.
Status FunctionDrain::RelayAwaited(std::vector<Grabbed>& jobs) {
  const bool others = GS_TRY(SeesOthers());
  if (!others) return {};
  std::vector<Grabbed*> asked;
  for (Grabbed& job : jobs) {
    if (CanAsk(job.unique)) asked.push_back(&job);
  }
  const std::vector<Packet> answers = GS_TRY(AskUniques(asked));
  std::vector<std::uint64_t> dropped;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (answers[i].arguments[5] == "0") continue;
    dropped.push_back(asked[i]->here);
    GS_TRY(RelayOne(*asked[i], true));
  }
  if (dropped.empty()) return {};
  std::erase_if(jobs, [&](const Grabbed& job) {
    return std::find(dropped.begin(), dropped.end(), job.here) != dropped.end();
  });
  scope_.broker.AddIds(Type::kDrop, std::move(dropped));
  return StatusOf(scope_.broker.Sync());
}

// WORK_COMPLETE has no answer but JOB_NOT_FOUND, so an echo follows each. An error before the first
// echo is about a relayed job. gearmand answers when it has deleted all of them from its store, one
// by one: where that is slow, the next batch is smaller.
Status FunctionDrain::CompleteAll(std::vector<Grabbed>& jobs) {
  worker_->Add(packet::kEchoReq, {"fence"});
  for (const Grabbed& job : jobs) {
    worker_->Add(packet::kWorkComplete, {job.handle, ""});
    worker_->Add(packet::kEchoReq, {job.handle});
  }
  const Time began = BootTime();
  bool fenced = false;
  for (std::size_t done = 0; done < jobs.size();) {
    const Packet packet = GS_TRY(worker_->Next());
    if (packet.type == packet::kError) jobs[done].lost = jobs[done].lost || fenced;
    if (packet.type == packet::kEchoRes && std::exchange(fenced, true)) ++done;
  }
  const Time took = std::max<Time>(BootTime() - began, 1);
  const auto in_time = static_cast<double>(kBatchTime) / static_cast<double>(took);
  in_time_ = static_cast<std::size_t>(
      std::clamp(in_time * static_cast<double>(jobs.size()), 1.0, double{kMostBatch}));
  return {};
}

Status FunctionDrain::CommitAll(const std::vector<Grabbed>& jobs) {
  transfer::Mark change;
  std::vector<std::uint64_t> ids;
  for (const Grabbed& job : jobs) {
    ids.push_back(job.here);
    const auto add = [&](transfer::OutcomeKind kind, std::string_view text) {
      AddOutcome(change, job.unique.empty() ? job.handle : job.unique, function_, job.here, kind,
                 text);
    };
    if (job.lost)
      add(transfer::OutcomeKind::kUncertain, "the old server forgot it: it may have run");
    if (!job.exact) add(transfer::OutcomeKind::kAltered, kGuessedText);
  }
  if (ids.empty()) return {};
  scope_.broker.AddMoved(std::move(ids), change);
  GS_TRY(scope_.broker.Sync());
  for (const Grabbed& job : jobs) scope_.report.Moved(job.job);
  return {};
}

}  // namespace gearstalk::ctl
