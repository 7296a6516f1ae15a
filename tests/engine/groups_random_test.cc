// The groups of a tube against a model of them: every question is answered by a walk over all jobs.

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "broker/engine/groups.h"
#include "tests/engine/policy_test.h"

namespace gearstalk {
namespace {

struct Plan {
  std::string order = "fair";
  std::uint32_t running = 0;
  Time apart = 0;  // 0: no rate
  std::uint32_t burst = 1;
  bool holds = false;

  PolicyValues Values() const {
    return {{"group", "line"},
            {"group_order", order},
            {"group_running", std::to_string(running)},
            {"group_rate", apart == 0 ? "0" : std::to_string(kSecond / apart) + "/s"},
            {"group_burst", std::to_string(burst)},
            {"group_on_failure", holds ? "hold" : "next"}};
  }
};

class GroupModel {
 public:
  struct Job {
    std::string group;
    std::uint32_t priority;
    JobState state;
    Time due = kNever;  // the end of its delay, or of its TTR
    std::uint32_t ttr_s = 1;
  };
  struct Gift {
    std::optional<JobId> job = std::nullopt;
    std::string held = "none";
    Time until = kNever;
  };

  std::map<JobId, Job> jobs;
  Plan plan;
  Time now = 0;

  void Change(JobId id, JobState state, Time due = kNever) {
    jobs.at(id).state = state;
    jobs.at(id).due = due;
    Settle(jobs.at(id).group);
  }
  void Add(JobId id, Job job) {
    const std::string group = jobs.emplace(id, std::move(job)).first->second.group;
    Settle(group);
  }
  void Remove(JobId id) {
    const std::string group = jobs.at(id).group;
    jobs.erase(id);
    Settle(group);
  }
  void HandOut(JobId id) {
    Group& group = groups_[jobs.at(id).group];
    jobs.at(id).state = JobState::kReserved;
    jobs.at(id).due = After(now, jobs.at(id).ttr_s);
    if (plan.apart > 0 && !jobs.at(id).group.empty()) {
      group.paced = std::max(group.paced, now) + plan.apart;
    }
    group.stamp = ++last_stamp_;
    Settle(jobs.at(id).group);
  }
  std::optional<JobId> Next() const {
    std::optional<JobId> next;
    std::tuple<std::uint32_t, std::uint64_t, std::uint64_t> best;
    for (const auto& [name, group] : groups_) {
      const Gift gift = GiftOf(name);
      if (!gift.job) continue;
      const std::uint32_t priority = jobs.at(*gift.job).priority;
      const bool age = plan.order == "age";
      const auto turn = std::tuple(priority, age ? 0 : Count(name, JobState::kReserved),
                                   age ? *gift.job : group.stamp);
      if (!next || turn < best) {
        next = gift.job;
        best = turn;
      }
    }
    return next;
  }
  // The end of a delay, of a TTR, or of a hold by a rate.
  Time NextEvent() const {
    Time next = kNever;
    for (const auto& [id, job] : jobs) next = std::min(next, job.due);
    for (const auto& [name, group] : groups_) next = std::min(next, GiftOf(name).until);
    return next;
  }
  void Do() {
    for (auto& [id, job] : jobs) {
      if (job.due <= now) Change(id, JobState::kReady);
    }
    for (const auto& [name, group] : std::map(groups_)) Settle(name);
  }
  // Another plan: with another order, turns and paces begin anew, as the jobs are read.
  void Adopt(const Plan& other) {
    const bool anew = other.order != plan.order;
    plan = other;
    if (anew) {
      groups_.clear();
      read_to_ = 0;
    }
    for (const auto& [id, job] : jobs) {
      if (anew) read_to_ = id;
      Settle(job.group);
    }
    read_to_ = UINT64_MAX;
  }
  bool MayReserve(JobId id) const {
    const Job& job = jobs.at(id);
    if (job.state == JobState::kReserved) return false;
    if (plan.order != "fifo" || job.group.empty()) return true;
    if (Count(job.group, JobState::kReserved) > 0) return false;
    if (job.state == JobState::kBuried) return true;
    return std::none_of(jobs.begin(), jobs.end(), [&](const auto& other) {
      return other.second.group == job.group && other.second.state != JobState::kBuried &&
             other.first < id;
    });
  }
  std::uint64_t Count(const std::string& name, JobState state) const {
    return static_cast<std::uint64_t>(
        std::count_if(jobs.begin(), jobs.end(), [&](const auto& each) {
          return each.first <= read_to_ && each.second.group == name && each.second.state == state;
        }));
  }
  Gift GiftOf(const std::string& name) const {
    const bool line = plan.order == "fifo" && !name.empty();
    std::optional<JobId> first, delayed;
    for (const auto& [id, job] : jobs) {
      if (job.group != name || id > read_to_) continue;
      if (job.state == JobState::kDelayed && !delayed) delayed = id;
      if (job.state != JobState::kReady) continue;
      if (!first || (!line && job.priority < jobs.at(*first).priority)) first = id;
    }
    if (!first) return {};
    if (name.empty()) return {first};
    if (plan.holds && Count(name, JobState::kBuried) > 0) return {{}, "failed"};
    const std::uint64_t reserved = Count(name, JobState::kReserved);
    if (line && reserved > 0) return {};
    if (line && delayed && *delayed < *first) return {{}, "fifo"};
    if (!line && plan.running > 0 && reserved >= plan.running) return {{}, "running"};
    const Time next = groups_.at(name).paced - plan.apart * (plan.burst - 1);
    if (plan.apart > 0 && next > now) return {{}, "rate", next};
    return {first};
  }

 private:
  struct Group {
    std::optional<std::uint32_t> gave = std::nullopt;  // the priority of what it had to give
    std::uint64_t stamp = 0;
    Time paced = 0;
  };

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
  std::uint64_t last_stamp_ = 0;
  JobId read_to_ = UINT64_MAX;
};

class GroupsRandomTest : public PolicyTest {
 protected:
  std::uint64_t Below(std::uint64_t bound) { return random_() % bound; }
  bool OneIn(std::uint64_t chances) { return Below(chances) == 0; }

  void Adopt(const Plan& plan) {
    SetPolicy(plan.Values());
    while (engine.Tick(Now()) <= Now()) continue;
    model_.Adopt(plan);
  }
  Plan SomePlan() {
    constexpr const char* kOrders[] = {"age", "fair", "fifo"};
    constexpr Time kApart[] = {0, 0, kSecond, kSecond / 2};
    return {.order = OneIn(2) ? model_.plan.order : kOrders[Below(3)],
            .running = OneIn(2) ? 0 : static_cast<std::uint32_t>(1 + Below(3)),
            .apart = kApart[Below(4)],
            .burst = static_cast<std::uint32_t>(1 + Below(3)),
            .holds = OneIn(3)};
  }
  // The time goes from one event to the next, so that each happens by itself.
  void GoOn() {
    const Time end = Now() + 1 + static_cast<Time>(Below(OneIn(3) ? 2 * kSecond : kMillisecond));
    while (Now() < end) {
      const Time next = std::max(std::min(end, model_.NextEvent()), Now());
      clock.Advance(next - Now());
      model_.now = Now();
      while (engine.Tick(Now()) <= Now()) continue;
      model_.Do();
    }
  }
  void Put() {
    constexpr const char* kNames[] = {"a", "b", "c", "d", ""};
    if (model_.jobs.size() > 30) return;
    const std::string name = kNames[Below(5)];
    const std::uint32_t priority = static_cast<std::uint32_t>(Below(3));
    const std::uint32_t delay_s = OneIn(4) ? static_cast<std::uint32_t>(1 + Below(3)) : 0;
    const std::string body = name + "\nbody";
    const std::uint32_t ttr_s = OneIn(2) ? 100'000 : static_cast<std::uint32_t>(1 + Below(3));
    const JobId id =
        PutInto("t", {.priority = priority, .delay_s = delay_s, .ttr_s = ttr_s, .body = body});
    const Time due = delay_s == 0 ? kNever : After(Now(), delay_s);
    model_.Add(id,
               {name, priority, delay_s == 0 ? JobState::kReady : JobState::kDelayed, due, ttr_s});
  }
  void Take() {
    Taken taken;
    const ReserveResult result = engine.Reserve(Now(), *worker_, Now(), taken);
    const std::optional<JobId> next = model_.Next();
    ASSERT_EQ(next.value_or(0), taken.job == nullptr ? 0 : taken.job->id());
    ASSERT_EQ(result == ReserveResult::kTaken, next.has_value());
    if (next) model_.HandOut(*next);
  }
  void WithJob() {
    if (model_.jobs.empty()) return;
    auto at = model_.jobs.begin();
    std::advance(at, Below(model_.jobs.size()));
    const JobId id = at->first;
    const bool held = at->second.state == JobState::kReserved;
    const std::uint32_t priority = static_cast<std::uint32_t>(Below(3));
    const std::uint32_t delay_s = OneIn(2) ? 0 : static_cast<std::uint32_t>(1 + Below(3));
    switch (Below(6)) {
      case 0:
        if (engine.Delete(Now(), *worker_, id).ok()) model_.Remove(id);
        return;
      case 1:
        if (!held) return;
        at->second.priority = priority;
        ASSERT_TRUE(engine.Release(Now(), *worker_, id, priority, delay_s).ok());
        return model_.Change(id, delay_s == 0 ? JobState::kReady : JobState::kDelayed,
                             delay_s == 0 ? kNever : After(Now(), delay_s));
      case 2:
        if (!held) return;
        at->second.priority = priority;
        ASSERT_TRUE(engine.Bury(Now(), *worker_, id, priority).ok());
        return model_.Change(id, JobState::kBuried);
      case 3:
        if (engine.KickJob(Now(), id).ok()) model_.Change(id, JobState::kReady);
        return;
      case 4: {
        const bool may = model_.MayReserve(id);
        ASSERT_EQ(may, engine.ReserveJob(Now(), *worker_, id).job != nullptr);
        if (may) model_.HandOut(id);
        return;
      }
      default:
        if (!engine.acts().Bury(id, priority, /*force=*/OneIn(2)).ok()) return;
        at->second.priority = priority;
        model_.Change(id, JobState::kBuried);
    }
  }
  // Nobody may sleep, or wait, beside a job that may leave; nobody is woken in vain.
  void Wait() {
    RecordingConsumer& sleeper = *sleepers_[Below(sleepers_.size())];
    if (sleeper.waiting()) return engine.StopWaiting(sleeper);
    engine.Sleep(Now(), sleeper);
    const bool woken = !sleeper.Heard().empty();
    ASSERT_EQ(woken, model_.Next().has_value());
    if (!woken) engine.StopWaiting(sleeper);
    if (!woken) return;
    const Taken taken = engine.Grab(Now(), sleeper);
    ASSERT_EQ(taken.job == nullptr ? 0 : taken.job->id(), model_.Next().value_or(0));
    model_.HandOut(taken.job->id());
    const JobId id = taken.job->id();
    ASSERT_TRUE(engine.WorkComplete(Now(), sleeper, id, "").ok());
    model_.Remove(id);
  }
  void Compare(const Engine& other, bool restarted) {
    const Tube* const tube = other.FindTube("t");
    if (tube == nullptr) return;
    const Groups& groups = *tube->groups();
    for (const char* const name : {"a", "b", "c", "d", ""}) {
      SCOPED_TRACE(name);
      const Group* const group = groups.Find(name);
      const auto count = [&](JobState state) { return model_.Count(name, state); };
      std::uint64_t ready = count(JobState::kReady), reserved = count(JobState::kReserved);
      if (restarted) ready += std::exchange(reserved, 0);
      ASSERT_EQ(group == nullptr ? 0 : group->ready(), ready);
      ASSERT_EQ(group == nullptr ? 0 : group->reserved(), reserved);
      ASSERT_EQ(group == nullptr ? 0 : group->delayed(), count(JobState::kDelayed));
      if (restarted) continue;
      ASSERT_EQ(group == nullptr ? "none" : NameOf(group->held()), model_.GiftOf(name).held);
    }
    ASSERT_EQ(other.CheckInvariants({}).find("wait"), std::string::npos);
  }
  void Step() {
    GoOn();
    const std::uint64_t what = Below(100);
    if (what < 30) return Put();
    if (what < 55) return Take();
    if (what < 85) return WithJob();
    if (what < 97) return Wait();
    if (what < 99) return Adopt(SomePlan());
    const Restarted after(journal, PolicyRules({{.match = "t", .values = model_.plan.Values()}}),
                          Now());
    Compare(after.engine, /*restarted=*/true);
  }

  std::mt19937_64 random_;
  GroupModel model_;
  RecordingConsumer* worker_ = nullptr;
  std::vector<RecordingConsumer*> sleepers_;
};

TEST_F(GroupsRandomTest, TheEngineAgreesWithTheModel) {
  worker_ = &Connect("t");
  for (int i = 0; i < 2; ++i) sleepers_.push_back(&Worker({"t"}));
  model_.now = Now();
  Adopt({});
  for (int step = 0; step < 36'000; ++step) {
    SCOPED_TRACE(step);
    ASSERT_NO_FATAL_FAILURE(Step());
    ASSERT_NO_FATAL_FAILURE(Compare(engine, /*restarted=*/false));
  }
}

}  // namespace
}  // namespace gearstalk
