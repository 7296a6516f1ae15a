// The groups of a tube against a model of them, over random commands of both protocols, policies,
// time, reloads and restarts.

#include <cstdlib>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "broker/engine/groups.h"
#include "broker/engine/transfers.h"
#include "tests/engine/group_model.h"
#include "tests/engine/policy_test.h"

namespace gearstalk {
namespace {

constexpr const char* kNames[] = {"a", "b", "c", "d", ""};

// Tube "t" has groups, and "other" has none.
class GroupsRandomTest : public PolicyTest {
 protected:
  using Job = GroupModel::Job;

  std::uint64_t Below(std::uint64_t bound) { return random_() % bound; }
  bool OneIn(std::uint64_t chances) { return Below(chances) == 0; }
  std::uint32_t Some(std::uint64_t bound) { return static_cast<std::uint32_t>(Below(bound)); }
  // 0: none of them.
  JobId SomeOf(const std::map<JobId, Job>& jobs) {
    return jobs.empty() ? 0 : std::next(jobs.begin(), static_cast<long>(Below(jobs.size())))->first;
  }

  // --- Policies
  GroupPlan SomePlan() {
    constexpr const char* kSources[] = {"line", "unique", "none"};
    constexpr const char* kOrders[] = {"age", "fair", "fifo"};
    constexpr const char* kFates[] = {"bury", "delete", "move"};
    constexpr Time kApart[] = {0, 0, kSecond / 3, kSecond / 7};  // no multiples make a second
    return {.source = OneIn(2) ? "line" : kSources[Below(3)],
            .order = OneIn(2) ? model_.plan.order : kOrders[Below(3)],
            .running = OneIn(2) ? 0 : 1 + Some(3),
            .apart = kApart[Below(4)],
            .burst = 1 + Some(3),
            .holds = OneIn(3),
            .on_failure = kFates[Below(3)],
            .expire_after_s = OneIn(3) ? 1 + Some(6) : 0,
            .on_expiry = kFates[Below(3)]};
  }
  // All jobs are looked at at once, or some commands come before.
  void Adopt(const GroupPlan& plan) {
    engine.StopWaiting(*waiter_);
    model_.BeginAdopt(plan);
    SetPolicy(plan.Values());
    if (model_.reading() && plan.source != "none") {
      for (std::uint64_t acts = Below(4); acts > 0; --acts) {
        ASSERT_NO_FATAL_FAILURE(acts == 1 ? WithJob() : OneIn(2) ? Put() : Take());
      }
    }
    while (engine.Tick(Now()) <= Now()) continue;
    model_.EndAdopt();
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
      ASSERT_NO_FATAL_FAILURE(Served());
    }
  }

  // --- Jobs come
  void Put() {
    if (model_.jobs.size() > 30) return;
    const std::uint32_t delay_s = OneIn(4) ? 1 + Some(3) : 0;
    Job job = SomeJob(delay_s);
    const std::string body = job.line + "\nbody";
    const Spec spec = {.priority = job.priority,
                       .delay_s = delay_s,
                       .ttr_s = job.ttr_s,
                       .body = body,
                       .unique = job.unique};
    const std::string key = job.unique.empty() ? "" : job.unique + ":" + std::to_string(++keys_);
    const JobId id = Submit("t", {spec.priority, spec.delay_s, spec.ttr_s, body, key}, nullptr,
                            delay_s == 0 ? 0 : After(Now(), delay_s))
                         .id;
    job.expires = model_.Expiry(After(Now(), delay_s));
    model_.Add(id, std::move(job));
  }
  Job SomeJob(std::uint32_t delay_s) {
    return {.line = kNames[Below(5)],
            .unique = kNames[Below(5)],
            .priority = Some(3),
            .state = delay_s == 0 ? JobState::kReady : JobState::kDelayed,
            .due = delay_s == 0 ? kNever : After(Now(), delay_s),
            .ttr_s = OneIn(2) ? 100'000 : 1 + Some(3)};
  }
  // With an id below those that are there.
  void Import() {
    if (model_.jobs.size() > 30 || last_import_ == 0) return;
    Job job = SomeJob(OneIn(4) ? 1 + Some(3) : 0);
    if (OneIn(4)) job.state = JobState::kBuried;
    if (job.state == JobState::kBuried) job.due = kNever;
    const std::string key = job.unique.empty() ? "" : job.unique + ":" + std::to_string(++keys_);
    const std::string body = job.line + "\nbody";
    Record record;
    record.id = last_import_--;
    record.tube = "t";
    record.priority = job.priority;
    record.ttr_s = job.ttr_s;
    record.body = body;
    record.unique = key;
    record.state = job.state == JobState::kBuried    ? Record::State::kBuried
                   : job.state == JobState::kDelayed ? Record::State::kDelayed
                                                     : Record::State::kReady;
    record.due = job.due == kNever ? 0 : job.due;
    ASSERT_EQ(engine.transfers().Put(Now(), "import", record, "key", {}).id, record.id);
    model_.Add(record.id, std::move(job));
  }

  // --- Jobs leave
  void Take() {
    Taken taken;
    const ReserveResult result = engine.Reserve(Now(), *worker_, Now(), taken);
    const std::optional<JobId> next = model_.Next();
    ASSERT_EQ(next.value_or(0), taken.job == nullptr ? 0 : taken.job->id());
    ASSERT_EQ(result == ReserveResult::kTaken, next.has_value());
    if (next) model_.HandOut(*next);
  }
  void WithJob() {
    const JobId id = SomeOf(model_.jobs);
    if (id == 0) return;
    if (model_.jobs.at(id).state == JobState::kReserved && OneIn(2)) return EndReserved(id);
    const std::uint32_t priority = Some(3);
    switch (Below(5)) {
      case 0:
        ASSERT_TRUE(engine.Cancel(Now(), id).ok());
        model_.Remove(id);
        return;
      case 1:
        if (engine.KickJob(Now(), id).ok()) model_.Kick(id);
        return;
      case 2: {
        const bool may = model_.MayReserve(id);
        const bool took = engine.ReserveJob(Now(), *worker_, id).job != nullptr;
        // Before it is looked at, nobody knows that a job is in no line.
        const bool known = !model_.reading() || !model_.plan.lines();
        ASSERT_TRUE(took == may || !known);
        if (took) model_.HandOut(id);
        return;
      }
      case 3:
        if (!engine.Bury(id, priority, /*force=*/OneIn(2)).ok()) return;
        model_.jobs.at(id).priority = priority;
        return model_.Change(id, JobState::kBuried);
      default:
        if (!engine.Move(Now(), id, "other").ok()) return;
        away_.emplace(id, model_.Remove(id));
    }
  }
  void EndReserved(JobId id) {
    const std::uint32_t priority = Some(3);
    const std::uint32_t delay_s = OneIn(2) ? 0 : 1 + Some(3);
    Job& job = model_.jobs.at(id);
    switch (Below(5)) {
      case 0:
        ASSERT_TRUE(engine.Delete(Now(), *worker_, id).ok());
        model_.Remove(id);
        return;
      case 1:
        job.priority = priority;
        ASSERT_TRUE(engine.Release(Now(), *worker_, id, priority, delay_s).ok());
        return model_.Return(id, delay_s * kSecond);
      case 2:
        job.priority = priority;
        ASSERT_TRUE(engine.Bury(Now(), *worker_, id, priority).ok());
        return model_.Change(id, JobState::kBuried);
      case 3:
        ASSERT_TRUE(engine.TakeBack(Now(), id, 0).ok());
        return model_.Return(id);
      default: {
        const std::string fate =
            job.expires <= Now() ? model_.plan.on_expiry : model_.plan.on_failure;
        ASSERT_TRUE(engine.WorkFail(Now(), *worker_, id).ok());
        model_.Fail(id, fate);
      }
    }
  }
  // Dead ones, those that were moved, and those that a hand-back holds.
  void WithOther() {
    if (const JobId id = SomeOf(model_.dead); id > 0 && OneIn(2)) {
      switch (Below(4)) {
        case 0:
          ASSERT_TRUE(engine.Cancel(Now(), id).ok());
          model_.RemoveDead(id);
          return;
        case 1:
          ASSERT_TRUE(engine.Move(Now(), id, "other").ok());
          away_.emplace(id, model_.RemoveDead(id));
          return;
        default:
          ASSERT_TRUE(engine.KickJob(Now(), id).ok());
          return model_.Kick(id);
      }
    }
    if (const JobId id = SomeOf(held_); id > 0 && OneIn(2)) {
      Job job = held_.at(id);
      held_.erase(id);
      if (OneIn(4)) {
        ASSERT_TRUE(engine.transfers().Drop("back", id).ok());
        return;
      }
      ASSERT_TRUE(engine.transfers().Commit(Now(), "back", id).ok());
      if (job.due <= Now()) job.state = JobState::kReady;
      if (job.state == JobState::kReady) job.due = kNever;
      return model_.Add(id, std::move(job));
    }
    if (OneIn(2)) return ComeBack();
    if (const JobId id = SomeOf(model_.jobs); id > 0) HoldBack(id);
  }
  void ComeBack() {
    const JobId id = SomeOf(away_);
    if (id == 0) return;
    Job job = away_.at(id);
    away_.erase(id);
    if (engine.Find(id) == nullptr) return;  // it expired there
    job.state = engine.Find(id)->state();
    if (job.state != JobState::kDelayed) job.due = kNever;
    ASSERT_TRUE(engine.Move(Now(), id, "t").ok());
    model_.Add(id, std::move(job));
  }
  void HoldBack(JobId id) {
    if (model_.jobs.at(id).state == JobState::kBuried) return;
    const bool held = engine.transfers().HoldBack("back", id).ok();
    ASSERT_EQ(held, model_.MayReserve(id));
    if (held) held_.emplace(id, model_.Remove(id));
  }
  // Several at once, in the order of their burial, or of their times if none is buried.
  void KickMany() {
    std::map<std::pair<std::uint64_t, JobId>, JobId> order;
    const auto add = [&](JobState state) {
      for (const auto& [id, job] : model_.jobs) {
        if (job.state != state) continue;
        const auto place =
            state == JobState::kBuried ? job.burial : static_cast<std::uint64_t>(job.due);
        order[{place, id}] = id;
      }
    };
    // Their expiries would fall together.
    if (model_.plan.expire_after_s > 0) return;
    add(JobState::kBuried);
    if (order.empty()) add(JobState::kDelayed);
    const std::uint64_t bound = 1 + Below(5);
    std::optional<KickFrom> from;
    const Kicked kicked = engine.Kick(Now(), "t", bound, from);
    if (kicked.code == Code::kNotFound) return;
    ASSERT_EQ(kicked.count, std::min<std::uint64_t>(bound, order.size()));
    std::uint64_t count = 0;
    for (const auto& [place, id] : order) {
      if (count++ == kicked.count) break;
      model_.Kick(id);
    }
  }
  void Pause() {
    const std::uint32_t seconds = Some(3);
    if (!engine.Pause(Now(), "t", seconds).ok()) return;
    model_.paused_until = seconds == 0 ? 0 : After(Now(), seconds);
  }

  // --- Consumers wait
  // Nobody may sleep, or wait, beside a job that may leave; nobody is woken in vain.
  void Sleeps() {
    RecordingConsumer& sleeper = *sleepers_[Below(sleepers_.size())];
    if (sleeper.waiting()) return engine.StopWaiting(sleeper);
    engine.Sleep(Now(), sleeper);
    const bool woken = !sleeper.Heard().empty();
    ASSERT_EQ(woken, model_.Next().has_value());
    if (!woken) engine.StopWaiting(sleeper);
    if (!woken) return;
    const Taken taken = engine.Grab(Now(), sleeper);
    ASSERT_EQ(taken.job == nullptr ? 0 : taken.job->id(), model_.Next().value_or(0));
    const JobId id = taken.job->id();
    model_.HandOut(id);
    if (OneIn(2)) {
      ASSERT_TRUE(engine.WorkComplete(Now(), sleeper, id, "").ok());
      model_.Remove(id);
    } else {
      ASSERT_TRUE(engine.WorkFail(Now(), sleeper, id).ok());
      model_.Fail(id, model_.plan.on_failure);
    }
  }
  void Waits() {
    if (waiter_->waiting()) return engine.StopWaiting(*waiter_);
    const std::string word = Reserve(*waiter_);
    const auto next = model_.Next();
    ASSERT_EQ(word, next ? "reserved " + std::to_string(*next) : "waits");
    if (next) Finish(*next);
  }
  void Finish(JobId id) {
    model_.HandOut(id);
    ASSERT_TRUE(engine.Delete(Now(), *waiter_, id).ok());
    model_.Remove(id);
  }
  // Whoever waits has got the next job as soon as there is one.
  void Served() {
    for (const std::string& heard : waiter_->Heard()) {
      ASSERT_EQ(heard, "reserved " + std::to_string(model_.Next().value_or(0)));
      Finish(*model_.Next());
    }
    ASSERT_FALSE(waiter_->waiting() && model_.Next().has_value());
  }

  // --- What is seen
  void Compare(const Engine& other, bool restarted) {
    const Tube* const tube = other.FindTube("t");
    if (tube == nullptr || model_.plan.source == "none") return;
    const Groups& groups = *tube->groups();
    for (const char* const name : kNames) {
      SCOPED_TRACE(name);
      const Group* const group = groups.Find(name);
      const auto count = [&](JobState state) { return model_.Count(name, state); };
      std::uint64_t ready = count(JobState::kReady), reserved = count(JobState::kReserved);
      if (restarted) ready += std::exchange(reserved, 0);
      ASSERT_EQ(group == nullptr ? 0 : group->ready(), ready);
      ASSERT_EQ(group == nullptr ? 0 : group->reserved(), reserved);
      ASSERT_EQ(group == nullptr ? 0 : group->delayed(), count(JobState::kDelayed));
      if (restarted && group != nullptr && model_.plan.holds && ready > 0 && *name != 0) {
        ASSERT_EQ(NameOf(group->held()) == "failed", model_.Failed(name) > 0);
      }
      if (restarted) continue;
      ASSERT_EQ(group == nullptr ? "none" : NameOf(group->held()), model_.GiftOf(name).held);
    }
  }
  void Restart() {
    for (const auto& [id, job] : model_.jobs) {
      if (job.state == JobState::kReserved && job.expires <= Now()) return;  // it would end
    }
    const Restarted after(journal, PolicyRules({{.match = "t", .values = model_.plan.Values()}}),
                          Now());
    Compare(after.engine, /*restarted=*/true);
  }
  void Act() {
    const std::uint64_t what = Below(200);
    if (what < 50) return Put();
    if (what < 56) return Import();
    if (what < 96) return Take();
    if (what < 144) return WithJob();
    if (what < 160) return WithOther();
    if (what < 166) return KickMany();
    if (what < 180) return Sleeps();
    if (what < 192) return Waits();
    if (what < 194) return Pause();
    if (what < 198) return Adopt(SomePlan());
    Restart();
  }
  void Step() {
    ASSERT_NO_FATAL_FAILURE(GoOn());
    ASSERT_NO_FATAL_FAILURE(Act());
    while (engine.Tick(Now()) <= Now()) continue;
    model_.Do();  // a job may come past its expiry
    ASSERT_NO_FATAL_FAILURE(Served());
  }
  void Run(std::uint64_t seed, int steps) {
    random_.seed(seed);
    worker_ = &Connect("t");
    waiter_ = &Connect("t");
    for (int i = 0; i < 2; ++i) sleepers_.push_back(&Worker({"t"}));
    ASSERT_TRUE(engine.transfers().Begin("import", {.kind = "import"}, last_import_ + 1, 0).ok());
    ASSERT_TRUE(engine.transfers().Begin("back", {.kind = "hand-back"}, 0, 0).ok());
    model_.now = Now();
    Adopt({});
    for (int step = 0; step < steps; ++step) {
      SCOPED_TRACE(step);
      ASSERT_NO_FATAL_FAILURE(Step());
      ASSERT_NO_FATAL_FAILURE(Compare(engine, /*restarted=*/false));
      if (OneIn(10)) ExpectSound();
      ASSERT_FALSE(HasFailure());
    }
  }

  std::mt19937_64 random_;
  GroupModel model_;
  std::map<JobId, Job> away_;  // in the tube "other"
  std::map<JobId, Job> held_;  // by a transfer
  JobId last_import_ = 100'000;
  std::uint64_t keys_ = 0;
  RecordingConsumer* worker_ = nullptr;
  RecordingConsumer* waiter_ = nullptr;
  std::vector<RecordingConsumer*> sleepers_;
};

// GEARSTALK_SEED and GEARSTALK_STEPS make another run of it, or a longer one.
TEST_F(GroupsRandomTest, TheEngineAgreesWithTheModel) {
  const auto set = [](const char* name, std::uint64_t otherwise) {
    const char* const value = std::getenv(name);
    return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
  };
  Run(set("GEARSTALK_SEED", 5489), static_cast<int>(set("GEARSTALK_STEPS", 12'000)));
}

}  // namespace
}  // namespace gearstalk
