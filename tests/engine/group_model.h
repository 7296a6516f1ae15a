#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "tests/engine/policy_test.h"

namespace gearstalk {

// What the policy of a tube says of groups, and what becomes of its jobs.
struct GroupPlan {
  std::string source = "line";  // or unique, none
  std::string order = "fair";
  std::uint32_t running = 0;
  Time apart = 0;  // 0: no rate
  std::uint32_t burst = 1;
  bool holds = false;
  std::string on_failure = "bury";  // or delete, move
  std::uint32_t expire_after_s = 0;
  std::string on_expiry = "delete";  // or bury, move

  bool lines() const { return source != "none" && order == "fifo"; }
  bool SameGroups(const GroupPlan& other) const {
    return other.source == source && (other.order == order || source == "none");
  }
  PolicyValues Values() const {
    return {{"group", source},
            {"group_order", order},
            {"group_running", std::to_string(running)},
            {"group_rate", apart == 0 ? "0" : std::to_string(kSecond / apart) + "/s"},
            {"group_burst", std::to_string(burst)},
            {"group_on_failure", holds ? "hold" : "next"},
            {"on_failure", on_failure},
            {"expire_after", expire_after_s == 0 ? "0" : std::to_string(expire_after_s) + "s"},
            {"on_expiry", on_expiry}};
  }
};

// The groups of a tube, slow and obvious: every question is answered by a walk over all jobs.
class GroupModel {
 public:
  struct Job {
    std::string line, unique;  // its group by either source
    std::uint32_t priority = 0;
    JobState state = JobState::kReady;
    Time due = kNever;  // the end of its delay, or of its TTR
    std::uint32_t ttr_s = 1;
    std::uint64_t burial = 0;
    Time expires = kNever;
  };
  struct Gift {
    std::optional<JobId> job = std::nullopt;
    std::string held = "none";
    Time until = kNever;
  };

  std::map<JobId, Job> jobs;
  std::map<JobId, Job> dead;  // in the dead tube
  GroupPlan plan;
  Time now = 0;
  Time paused_until = 0;

  // --- Changes
  void Add(JobId id, Job job) {
    if (job.state == JobState::kBuried) job.burial = ++last_burial_;
    Settle(NameOf(jobs.insert_or_assign(id, std::move(job)).first->second));
  }
  void Change(JobId id, JobState state, Time due = kNever) {
    Job& job = jobs.at(id);
    job.state = state;
    job.due = due;
    if (state == JobState::kBuried) job.burial = ++last_burial_;
    Settle(NameOf(job));
  }
  Job Remove(JobId id) {
    Job job = jobs.at(id);
    jobs.erase(id);
    Settle(NameOf(job));
    return job;
  }
  void HandOut(JobId id) {
    Job& job = jobs.at(id);
    Group& group = groups_[NameOf(job)];
    job.state = JobState::kReserved;
    job.due = After(now, job.ttr_s);
    if (plan.apart > 0 && !NameOf(job).empty()) {
      group.paced = std::max(group.paced, now) + plan.apart;
    }
    group.stamp = ++last_stamp_;
    Settle(NameOf(job));
  }
  // The job would be ready again; one that is past its expiry ends instead.
  void Return(JobId id, Time delay = 0) {
    if (jobs.at(id).expires <= now) return Fail(id, plan.on_expiry);
    Change(id, delay == 0 ? JobState::kReady : JobState::kDelayed,
           delay == 0 ? kNever : now + delay);
  }
  void Fail(JobId id, const std::string& fate) {
    if (fate == "bury") return Change(id, JobState::kBuried);
    const Job job = jobs.at(id);
    jobs.erase(id);
    if (fate == "move") dead.emplace(id, job);
    Settle(NameOf(job));
  }
  // Of the tube or dead; the latter goes home.
  void Kick(JobId id) {
    if (const auto found = dead.find(id); found != dead.end()) {
      const Job job = found->second;
      dead.erase(found);
      jobs.emplace(id, job).first->second.state = JobState::kBuried;
    }
    Job& job = jobs.at(id);
    if (job.state == JobState::kBuried) job.expires = Expiry(now);
    Change(id, JobState::kReady);
  }
  Job RemoveDead(JobId id) {
    const Job job = dead.at(id);
    dead.erase(id);
    Settle(NameOf(job));
    return job;
  }
  Time Expiry(Time from) const {
    return plan.expire_after_s == 0 ? kNever : After(from, plan.expire_after_s);
  }

  // --- Questions
  std::optional<JobId> Next() const {
    if (paused_until > now) return std::nullopt;
    std::optional<JobId> next;
    std::tuple<std::uint32_t, std::uint64_t, std::uint64_t> best;
    for (const auto& [name, group] : groups_) {
      const Gift gift = GiftOf(name);
      if (!gift.job) continue;
      const std::uint32_t priority = jobs.at(*gift.job).priority;
      const bool age = plan.order == "age" || plan.source == "none";
      const auto turn = std::tuple(priority, age ? 0 : Count(name, JobState::kReserved),
                                   age ? *gift.job : group.stamp);
      if (!next || turn < best) {
        next = gift.job;
        best = turn;
      }
    }
    return next;
  }
  // The end of a delay, a TTR, an expiry, a pause, or of a hold by a rate.
  Time NextEvent() const {
    Time next = paused_until > now ? paused_until : kNever;
    for (const auto& [id, job] : jobs) {
      next = std::min(next, job.due);
      if (Waits(job)) next = std::min(next, job.expires);
    }
    for (const auto& [name, group] : groups_) next = std::min(next, GiftOf(name).until);
    return next;
  }
  void Do() {
    for (const auto& [id, job] : std::map(jobs)) {
      if (Waits(job) && job.expires <= now) {
        Fail(id, plan.on_expiry);
      } else if (job.due <= now) {
        Return(id);
      }
    }
    for (const auto& [name, group] : std::map(groups_)) Settle(name);
  }
  bool MayReserve(JobId id) const {
    const Job& job = jobs.at(id);
    if (job.state == JobState::kReserved) return false;
    if (!plan.lines() || NameOf(job).empty()) return true;
    if (Count(NameOf(job), JobState::kReserved) > 0) return false;
    if (job.state == JobState::kBuried) return true;
    return std::none_of(jobs.begin(), jobs.end(), [&](const auto& other) {
      return NameOf(other.second) == NameOf(job) && other.second.state != JobState::kBuried &&
             other.first < id;
    });
  }
  std::uint64_t Count(const std::string& name, JobState state) const {
    return static_cast<std::uint64_t>(
        std::count_if(jobs.begin(), jobs.end(), [&](const auto& each) {
          return each.first <= read_to_ && NameOf(each.second) == name &&
                 each.second.state == state;
        }));
  }
  std::uint64_t Failed(const std::string& name) const {
    const auto dies = [&](const auto& each) { return NameOf(each.second) == name; };
    return Count(name, JobState::kBuried) +
           static_cast<std::uint64_t>(std::count_if(dead.begin(), dead.end(), dies));
  }
  Gift GiftOf(const std::string& name) const {
    const bool line = plan.lines() && !name.empty();
    std::optional<JobId> first, delayed;
    for (const auto& [id, job] : jobs) {
      if (NameOf(job) != name || id > read_to_) continue;
      if (job.state == JobState::kDelayed && !delayed) delayed = id;
      if (job.state != JobState::kReady) continue;
      if (!first || (!line && job.priority < jobs.at(*first).priority)) first = id;
    }
    if (!first) return {};
    if (name.empty()) return {first};
    if (plan.holds && Failed(name) > 0) return {{}, "failed"};
    const std::uint64_t reserved = Count(name, JobState::kReserved);
    if (line && reserved > 0) return {};
    if (line && delayed && *delayed < *first) return {{}, "fifo"};
    if (!line && plan.running > 0 && reserved >= plan.running) return {{}, "running"};
    const Time next = groups_.at(name).paced - plan.apart * (plan.burst - 1);
    if (plan.apart > 0 && next > now) return {{}, "rate", next};
    return {first};
  }
  std::string NameOf(const Job& job) const {
    return plan.source == "none" ? "" : plan.source == "line" ? job.line : job.unique;
  }

  // --- Another plan. With other groups or another order, turns and paces begin anew, as the jobs
  // are read; none is given before.
  void BeginAdopt(const GroupPlan& other) {
    const bool anew = !other.SameGroups(plan);
    plan = other;
    if (!anew) return;
    groups_.clear();
    read_to_ = 0;
  }
  void EndAdopt() {
    const bool anew = read_to_ == 0;
    for (const auto& [id, job] : std::map(jobs)) {
      if (anew) read_to_ = id;
      Settle(NameOf(job));
    }
    read_to_ = UINT64_MAX;
  }
  bool reading() const { return read_to_ == 0; }

 private:
  struct Group {
    std::optional<std::uint32_t> gave = std::nullopt;  // the priority of what it had to give
    std::uint64_t stamp = 0;
    Time paced = 0;
  };

  static bool Waits(const Job& job) {
    return job.state == JobState::kReady || job.state == JobState::kDelayed;
  }
  void Settle(const std::string& name) {
    Group& group = groups_[name];
    if (plan.apart > 0) group.paced = std::min(group.paced, now + plan.apart * plan.burst);
    const Gift gift = GiftOf(name);
    std::optional<std::uint32_t> gives;
    if (gift.job) gives = jobs.at(*gift.job).priority;
    if (gives && gives != group.gave) group.stamp = ++last_stamp_;
    group.gave = gives;
  }

  std::map<std::string, Group> groups_;
  std::uint64_t last_stamp_ = 0, last_burial_ = 0;
  JobId read_to_ = UINT64_MAX;
};

}  // namespace gearstalk
