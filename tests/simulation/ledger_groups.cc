// What clients see of the groups of a tube.

#include <algorithm>
#include <iterator>

#include "tests/simulation/ledger.h"

namespace gearstalk::simulation {
namespace {

// So many steps of a pace are looked at together: the engine's times here are whole seconds.
constexpr std::uint32_t kSteps = 3;
// As in ledger.cc: how long a job may be left for a worker that was woken.
constexpr Time kPromise = 150 * kMillisecond;

std::string Name(const KnownJob& job) {
  return "job " + std::to_string(job.id) + " (" + std::to_string(job.token) + " in group " +
         job.group + " of " + job.tube + ")";
}

}  // namespace

void Ledger::SetGroups(const GroupPlan& plan) {
  group_plans_[plan.tube] = plan;
  for (auto& [name, group] : groups_) {
    if (name.first != plan.tube) continue;
    group.taken.clear();
    group.turn = 0;
    group.stirred = plan.settled;
  }
}

// --- Whether a group takes a job

// It was taken. Jobs count whose puts were answered before it was sent, and that surely are there.
void Ledger::CheckAdmitted(const KnownJob& job) {
  const auto found = group_plans_.find(job.tube);
  if (found == group_plans_.end() || !job.grouped || damaged_) return;
  const GroupPlan& plan = found->second;
  if (!plan.grouped || job.asked <= plan.settled) return;
  if (plan.needs_name && job.group.empty()) Fail(Name(job) + " was taken without a group");
  if (plan.max_jobs == 0 || job.group.empty() || plan.by_attempts || !prompt_) return;
  const auto& jobs = groups_[{job.tube, job.group}].jobs;
  const auto there = std::count_if(jobs.begin(), jobs.end(), [&](const auto& each) {
    const KnownJob& other = *each.second;
    return Certain(other) && other.put < job.asked && other.vanishes == kNever && !other.aside;
  });
  if (there >= plan.max_jobs)
    Fail(Name(job) + " was taken, and its group has " + std::to_string(there) + " jobs");
}

// Whether its group may have been a reason to refuse it.
bool Ledger::MayBeFull(const KnownJob& job) const {
  const auto found = group_plans_.find(job.tube);
  if (found == group_plans_.end()) return false;
  const GroupPlan& plan = found->second;
  if (job.asked <= plan.settled) return true;
  if (job.group.empty()) return plan.needs_name;
  // What had ended may be back, and what has ended since was there.
  const auto mine = groups_.find({job.tube, job.group});
  const bool changed = mine != groups_.end() && mine->second.stirred >= job.asked;
  if (damaged_ || changed) return plan.max_jobs > 0;
  const auto may_be = std::count_if(jobs_.begin(), jobs_.end(), [&](const KnownJob& other) {
    return !other.ended && other.tube == job.tube && other.group == job.group;
  });
  return plan.max_jobs > 0 && may_be >= plan.max_jobs;
}

// --- Whose turn it is

void Ledger::Stir(const KnownJob& job) {
  if (job.grouped) groups_[{job.tube, job.group}].stirred = time_;
}

// A group has its turn once while another one waits that has nothing handed out. Whether that one
// has waited shows later.
void Ledger::CheckTurn(const KnownJob& job, const HandOut& out, Time taken) {
  const auto plan = group_plans_.find(job.tube);
  if (!job.grouped || plan == group_plans_.end() || !plan->second.turns) return;
  Group& mine = groups_[{job.tube, job.group}];
  const Time last = std::exchange(mine.turn, out.stale ? 0 : taken);
  mine.stirred = time_;
  const auto queue = queued_.find(job.tube);
  if (out.stale || out.watched == nullptr || !ordered_ || queue == queued_.end()) return;
  if (last <= plan->second.settled || job.touched) return;
  for (const auto& [place, known] : queue->second) {
    if (place.first > job.priority) break;
    const bool waits = known.second + kPromise < last && known.first->group != job.group;
    if (waits && known.first->grouped) passed_.push_back({known.first, Name(job), last});
  }
}

// Since then no job of its group was handed out, and none is.
bool Ledger::Waited(const KnownJob& job, Time since) const {
  const Group& group = groups_.at({job.tube, job.group});
  return group.stirred < since &&
         std::all_of(group.jobs.begin(), group.jobs.end(),
                     [](const auto& each) { return each.second->ended || !each.second->touched; });
}

// --- What workers get

void Ledger::JoinGroup(KnownJob& job) {
  if (job.grouped) groups_[{job.tube, job.group}].jobs[job.id] = &job;
}

void Ledger::OnBuried(KnownJob& job, Time asked, Time now) {
  const bool stays = !MayBeKicked(job.tube, asked) && job.lent == 0;
  if (burials_kept_ && stays && job.aside) job.buried = now;
}

// From the workers' side. It is checked when the hand-out leaves the broker.
void Ledger::CheckGroup(KnownJob& job, const HandOut& out, Time taken, Time now) {
  const auto found = group_plans_.find(job.tube);
  if (found == group_plans_.end() || !job.grouped || job.group.empty()) return;
  const GroupPlan& plan = found->second;
  Group& group = groups_[{job.tube, job.group}];
  const bool by_id = out.watched == nullptr;
  const bool set_aside = std::exchange(job.aside, false) && by_id;
  job.buried = kNever;
  if (damaged_ || !plan.grouped || taken <= plan.since) return;
  std::erase_if(group.jobs,
                [&](const auto& each) { return each.second->ended && each.second != &job; });
  if (plan.line && !plan.by_attempts && job.id < kFirstSpareId) {
    CheckLine(job, plan.since, group, set_aside, now);
  }
  if (plan.holds && !by_id) {
    for (const auto& [id, other] : group.jobs) {
      if (other->buried < taken && other->buried > plan.since)
        Fail(Name(job) + " was handed out although its group is held by " + Name(*other));
    }
  }
  CheckGroupLimits(job, plan, group, taken, now);
}

// Those before it have ended, or were set aside; nobody has another one. What was handed out by an
// earlier policy counts when the engine has looked at it.
void Ledger::CheckLine(const KnownJob& job, Time since, Group& group, bool set_aside, Time now) {
  for (auto& [id, other] : group.jobs) {
    if (other == &job) continue;
    if (IsHeld(*other, now) && other->taken > since && !other->aside)
      Fail(Name(job) + " was handed out while somebody has " + Name(*other));
    const bool may_wait = other->aside || other->lent > 0 || other->vanishes != kNever;
    if (set_aside || id > job.id || may_wait) continue;
    if (Certain(*other)) Fail(Name(job) + " was handed out before " + Name(*other) + " had ended");
    // Its end was asked for, and has come: nothing brings it back.
    if (other->end_asks > 0) other->ended = true;
    line_ends_.push_back({other, Name(job)});
  }
}

// What a client may see of the end of a job, it sees when that is durable. So the answer to its
// deletion leaves in the same round as the next job of its line, or before.
void Ledger::CheckLineEnds(const std::function<bool(const KnownJob&)>& awaited) {
  for (const LineEnd& each : line_ends_) {
    if (awaited(*each.job))
      Fail(each.by + " was handed out before the end of " + Name(*each.job) + " was durable");
  }
  line_ends_.clear();
}

void Ledger::CheckGroupLimits(const KnownJob& job, const GroupPlan& plan, Group& group, Time taken,
                              Time now) {
  if (plan.running > 0 && !plan.line) {
    const auto running = std::count_if(group.jobs.begin(), group.jobs.end(), [&](const auto& each) {
      return IsHeld(*each.second, now) && each.second->taken > plan.since;
    });
    if (running > plan.running)
      Fail(std::to_string(running) + " jobs run at once, with " + Name(job));
  }
  if (plan.apart == 0 || clocks_differ_) return;
  const auto last = group.taken.insert(taken);
  const auto behind = plan.burst - 1 + kSteps;
  for (auto first = group.taken.begin(); first != std::next(last); ++first) {
    if (std::distance(first, group.taken.end()) <= behind) break;
    if (*std::next(first, behind) - *first + kSecond < kSteps * plan.apart)
      Fail(Name(job) + " was handed out too soon for the pace of its group");
  }
}

void Ledger::OnSweep() {
  for (auto& [name, group] : groups_) group.swept = 0;
}

void Ledger::OnSwept(const KnownJob& job, JobId id) {
  const auto plan = group_plans_.find(job.tube);
  if (plan == group_plans_.end() || !plan->second.grouped || !plan->second.line) return;
  if (!job.grouped || job.group.empty() || damaged_ || plan->second.by_attempts) return;
  Group& group = groups_[{job.tube, job.group}];
  if (id < group.swept)
    Fail(Name(job) + " is handed out behind job " + std::to_string(group.swept) + " of its line");
  group.swept = id;
}

}  // namespace gearstalk::simulation
