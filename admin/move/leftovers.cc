#include "admin/move/leftovers.h"

#include <fmt/format.h>
#include <unistd.h>

#include "broker/base/clock.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

using transfer::Type;

constexpr std::size_t kSettled = 256;
constexpr std::size_t kWindowBytes = 16 << 20;
constexpr int kTries = 600;  // tenths of a second

OldJob::State StateOf(std::string_view name) {
  if (name == "ready") return OldJob::State::kReady;
  if (name == "reserved") return OldJob::State::kReserved;
  return name == "delayed" ? OldJob::State::kDelayed : OldJob::State::kBuried;
}

}  // namespace

// Two jobs are the same if id and body are equal: beanstalkd reuses ids after a restart.
Result<std::vector<OldJob>> Leftovers::LookUp(Jobs jobs) {
  std::vector<OldJob> there;
  for (const auto& held : jobs) {
    const std::uint64_t id = held.View().transfer.source_id;
    scope_.old.Add(fmt::format("stats-job {}", id));
    scope_.old.Add(fmt::format("peek {}", id));
  }
  for (const auto& held : jobs) {
    const Yaml stats = GS_TRY(scope_.old.ReadYaml());
    const BeanstalkClient::Answer peeked = GS_TRY(scope_.old.Body());
    OldJob& job = there.emplace_back();
    const bool same = peeked.found && peeked.body == held.View().body;
    if (stats.empty() || !same) continue;
    job.state = StateOf(stats.Get("state"));
    job.reserves = stats.Number("reserves");
    job.buries = stats.Number("buries");
  }
  return there;
}

Settlement Leftovers::Decide(const Record& job, const OldJob& there) const {
  SettleFacts facts = facts_;
  facts.phase = job.transfer.held;
  facts.was = job.state;
  facts.reserves = job.counters.reserves;
  facts.buries = job.counters.buries;
  // `time-left` is in whole seconds, and was rounded up.
  const Time due = job.due - kSecond;
  facts.due = job.state == Record::State::kDelayed && due <= SystemClock().Now();
  return ctl::Settle(facts, there);
}

// Jobs that this call deletes go to `gone`; `again`: others stay held for now.
Status Leftovers::DeleteAll(const Held& jobs, Held& gone, bool& again) {
  for (const OwnedRecord* job : jobs)
    scope_.old.Add(fmt::format("delete {}", job->View().transfer.source_id));
  for (const OwnedRecord* job : jobs) {
    const std::string line = GS_TRY(scope_.old.Line());
    if (line == "DELETED") gone.push_back(job);
    again = again || line != "DELETED";
  }
  return {};
}

Status Leftovers::Commit(const Held& gone, const Held& uncertain) {
  transfer::Mark change;
  std::vector<std::uint64_t> ids;
  ids.reserve(gone.size() + uncertain.size());
  for (const OwnedRecord* job : gone) ids.push_back(job->View().id);
  for (const OwnedRecord* job : uncertain) {
    ids.push_back(job->View().id);
    AddOutcome(change, std::to_string(job->View().transfer.source_id), job->View().tube,
               job->View().id, transfer::OutcomeKind::kUncertain,
               "it was gone from the old server, where it may have run");
  }
  if (ids.empty()) return {};
  scope_.broker.AddMoved(std::move(ids), change);
  GS_TRY(scope_.broker.Sync());
  for (const OwnedRecord* job : gone) scope_.report.Moved(job->View());
  for (const OwnedRecord* job : uncertain) scope_.report.Moved(job->View());
  return {};
}

// `again`: some of them stay held for now.
Status Leftovers::SettleWindow(Jobs jobs, bool& again) {
  const std::vector<OldJob> there = GS_TRY(LookUp(jobs));
  std::vector<std::uint64_t> drop, confirm;
  Held erase, gone, uncertain;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const OwnedRecord& held = jobs[i];
    const Record& job = held.View();
    const Settlement settlement = Decide(job, there[i]);
    if (settlement == Settlement::kDelete && job.state == Record::State::kBuried) {
      buried_[std::string(job.tube)].emplace(job.transfer.source_id, &held);
      continue;
    }
    if (settlement == Settlement::kWait) again = true;
    if (settlement == Settlement::kDrop) drop.push_back(job.id);
    if (settlement == Settlement::kGoOn) confirm.push_back(job.id);
    if (settlement == Settlement::kGoOn || settlement == Settlement::kDelete)
      erase.push_back(&held);
    if (settlement == Settlement::kCommit) gone.push_back(&held);
    if (settlement == Settlement::kCommitUncertain) uncertain.push_back(&held);
  }
  if (!drop.empty()) scope_.broker.AddIds(Type::kDrop, std::move(drop));
  if (!confirm.empty()) scope_.broker.AddIds(Type::kConfirm, std::move(confirm));
  GS_TRY(scope_.broker.Sync());
  GS_TRY(DeleteAll(erase, gone, again));
  return Commit(gone, uncertain);
}

// Deletes them in the order in which they were buried: peek-buried shows the oldest. When that one
// is not held here, the order of the others cannot be seen, and they go by id.
Status Leftovers::DeleteBuried(const std::string& tube, HeldById& jobs, bool& again) {
  GS_TRY(scope_.old.Ask("use " + tube));
  Held next, gone;
  while (!jobs.empty()) {
    scope_.old.Add("peek-buried");
    const BeanstalkClient::Answer oldest = GS_TRY(scope_.old.Body());
    const auto job = oldest.found ? jobs.find(oldest.id) : jobs.end();
    next.clear();
    if (job != jobs.end()) {
      next.push_back(job->second);
      jobs.erase(job);
    } else {
      for (const auto& [id, each] : jobs) next.push_back(each);
      jobs.clear();
    }
    GS_TRY(DeleteAll(next, gone, again));
    if (gone.size() < kSettled) continue;
    GS_TRY(Commit(gone, {}));
    gone.clear();
  }
  return Commit(gone, {});
}

Status Leftovers::Settle() {
  for (int tries = 0; tries < kTries; ++tries) {
    const std::vector<OwnedRecord> held = GS_TRY(ReadHeldJobs(scope_.broker));
    bool again = false;
    buried_.clear();
    for (std::size_t from = 0; from < held.size();) {
      std::size_t to = from, bytes = 0;
      while (to < held.size() && to - from < kSettled && bytes < kWindowBytes) {
        bytes += held[to++].View().body.size();
      }
      GS_TRY(SettleWindow(Jobs(held).subspan(from, to - from), again));
      from = to;
    }
    for (auto& [tube, jobs] : buried_) GS_TRY(DeleteBuried(tube, jobs, again));
    if (!again) {
      scope_.missed = 0;
      return {};
    }
    if (scope_.options.stopped()) return {};
    ::usleep(100'000);
  }
  return {Code::kIo, "jobs of a connection that is dead stay reserved in " + scope_.options.source};
}

}  // namespace gearstalk::ctl
