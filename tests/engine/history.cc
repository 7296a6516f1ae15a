#include "tests/engine/history.h"

#include <algorithm>

#include "tests/engine/durable_state.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/restart.h"

namespace gearstalk {

class History::Connection final : public Consumer {
 public:
  Connection(int number, std::vector<Model::Told>& told) : number_(number), told_(told) {}
  void OnReserved(Job& job, Lsn /*lsn*/) override { Note(Model::What::kReserved, job.id()); }
  void OnDeadlineSoon() override { Note(Model::What::kDeadlineSoon); }
  void OnTimedOut() override { Note(Model::What::kTimedOut); }
  void OnJobsAvailable() override { Note(Model::What::kJobsAvailable); }

 private:
  void Note(Model::What what, JobId id = 0) { told_.push_back({number_, what, id}); }
  const int number_;
  std::vector<Model::Told>& told_;
};

class History::Caller final : public JobObserver {
 public:
  Caller(int number, std::vector<Model::Told>& told) : number_(number), told_(told) {}
  void OnProgress(const Job& job, const Progress& /*progress*/, std::uint64_t times) override {
    Note(Model::What::kProgress, job.id(), times);
  }
  void OnFinished(const Job& job, const Finish& finish, std::uint64_t times) override {
    const auto what = finish.kind == Finish::Kind::kCompleted ? Model::What::kCompleted
                      : finish.kind == Finish::Kind::kFailed  ? Model::What::kFailed
                                                              : Model::What::kException;
    Note(what, job.id(), times);
  }

 private:
  void Note(Model::What what, JobId id, std::uint64_t times) {
    for (; times > 0; --times) told_.push_back({number_, what, id});
  }
  const int number_;
  std::vector<Model::Told>& told_;
};

History::History(std::uint64_t seed, EngineOptions options)
    : random_(seed),
      journal_(200),
      engine_(options, journal_),
      model_(kConsumers, options.wake_all, options.job_retries) {
  Restart(journal_, engine_);
  for (int i = 0; i < kConsumers; ++i) {
    connections_.push_back(std::make_unique<Connection>(i, told_));
    Connect(i);
  }
  for (int i = 0; i < kObservers; ++i) callers_.push_back(std::make_unique<Caller>(i, told_));
}

History::~History() {
  for (const auto& caller : callers_) engine_.Forget(*caller);
  for (const auto& connection : connections_) engine_.Leave(Now(), *connection);
}

Consumer& History::At(int consumer) { return *connections_[consumer]; }

void History::Connect(int consumer) {
  engine_.Join(At(consumer));
  if (!IsBeanstalk(consumer)) return;
  engine_.Use(At(consumer), "default");
  model_.Use(consumer, "default");
  engine_.Watch(Now(), At(consumer), "default");
  model_.Watch(Now(), consumer, "default", 0);
}

std::string History::SomeTube() {
  constexpr const char* kTubes[] = {"default", "a", "b", "c"};
  return kTubes[Below(4)];
}

std::uint32_t History::SomePriority() {
  constexpr std::uint32_t kPriorities[] = {0, 512, 1024, 65536, 131072};
  return OneIn(3) ? static_cast<std::uint32_t>(random_()) : kPriorities[Below(5)];
}

JobId History::SomeJob() {
  if (model_.jobs.empty() || OneIn(50)) return Below(last_id_ + 2);
  auto at = model_.jobs.lower_bound(model_.jobs.begin()->first +
                                    Below(last_id_ - model_.jobs.begin()->first + 1));
  return at == model_.jobs.end() ? model_.jobs.begin()->first : at->first;
}

JobId History::SomeJobOf(int consumer) {
  std::vector<JobId> held;
  for (const auto& [id, job] : model_.jobs) {
    if (job.holder == consumer) held.push_back(id);
  }
  return held.empty() || OneIn(20) ? SomeJob() : held[Below(held.size())];
}

// --- Steps

void History::Step() {
  ++steps_;
  Pass();
  if (over_) return;
  const int consumer = static_cast<int>(Below(kConsumers));
  if (OneIn(60)) {
    Disconnect(consumer);
  } else if (OneIn(40)) {
    const int caller = static_cast<int>(Below(kObservers));
    engine_.Forget(*callers_[caller]);
    model_.Forget(caller);
  } else if (OneIn(8)) {
    Administrate(consumer);
  } else if (IsBeanstalk(consumer)) {
    Beanstalk(consumer);
  } else {
    Gearman(consumer);
  }
  if (OneIn(4)) journal_.Compact(Below(20));
  // What has become due by the step itself.
  engine_.Tick(Now());
  model_.Do(Now());
  Compare();
}

// Time goes from one event of the model to the next, so that each happens by itself.
void History::Pass() {
  constexpr Time kLengths[] = {kMillisecond, kSecond, 1000 * kSecond, 300'000 * kSecond};
  const Time length = kLengths[OneIn(8) ? 1 + Below(3) : 0];
  const Time end = Now() + 1 + static_cast<Time>(Below(static_cast<std::uint64_t>(length)));
  for (;;) {
    const Time next = std::min(end, model_.NextEvent());
    if (next > Now()) clock_.Advance(next - Now());
    over_ = model_.Ambiguous(Now());
    if (over_) return;
    const Time due = engine_.Tick(Now());
    model_.Do(Now());
    ASSERT_EQ(model_.told, told_) << "step " << steps_;
    ASSERT_LE(due, model_.NextEvent()) << "step " << steps_;
    if (next == end) return;
  }
}

void History::Beanstalk(int consumer) {
  if (model_.consumers[consumer].wait != Model::Wait::kNone) {
    if (!OneIn(20)) return;
    engine_.StopWaiting(At(consumer));
    model_.StopWaiting(consumer);
    return;
  }
  switch (Below(8)) {
    case 0:
    case 1:
      return Put(consumer);
    case 2:
    case 3:
    case 4:
      return Reserve(consumer);
    case 5:
      return Tubes(consumer);
    default:
      return WithJob(consumer, SomeJobOf(consumer));
  }
}

void History::Gearman(int consumer) {
  switch (Below(8)) {
    case 0:
    case 1:
      return Submit(consumer);
    case 2:
    case 3: {
      const Taken taken = engine_.Grab(Now(), At(consumer));
      ASSERT_EQ(model_.Grab(Now(), consumer), taken.job == nullptr ? 0 : taken.job->id());
      return;
    }
    case 4:
    case 5:
      engine_.Sleep(Now(), At(consumer));
      model_.Sleep(Now(), consumer);
      return;
    case 6:
      return Abilities(consumer);
    default:
      return WithJob(consumer, SomeJobOf(consumer));
  }
}

void History::Put(int consumer) {
  if (model_.jobs.size() > 40) return;
  const Spec spec{.priority = SomePriority(),
                  .delay_s = OneIn(4) ? SomeSeconds() : 0,
                  .ttr_s = OneIn(10) ? 1 : SomeSeconds()};
  const Added added = engine_.Put(Now(), At(consumer), MakeJob(spec));
  ASSERT_EQ(Code::kOk, added.code);
  ASSERT_GT(added.id, last_id_);
  last_id_ = added.id;
  const Time due = spec.delay_s == 0 ? 0 : After(Now(), spec.delay_s);
  model_.Put(Now(), consumer, added.id, spec.priority, spec.ttr_s, due);
}

void History::Submit(int consumer) {
  if (model_.jobs.size() > 40) return;
  Model::Key key;
  if (!OneIn(3)) key = {.text = OneIn(2) ? "k" : "l", .is_body = OneIn(4)};
  if (key.is_body && OneIn(2)) key.text.resize(Job::kBlockFrom, 'b');
  const int waiter = OneIn(2) ? -1 : static_cast<int>(Below(kObservers));
  const std::string tube = SomeTube();
  const std::uint32_t priority = SomePriority();
  Submission submission;
  submission.tube = tube;
  submission.waiter = waiter < 0 ? nullptr : callers_[waiter].get();
  submission.due = OneIn(5) ? After(Now(), SomeSeconds()) : 0;
  submission.unique_is_body = key.is_body;
  JobPtr job = MakeJob({.priority = priority,
                        .ttr_s = 0,
                        .body = key.is_body ? std::string_view(key.text) : "body",
                        .unique = key.is_body ? "-" : std::string_view(key.text)});
  const std::vector<JobId> joinable = model_.Joinable(tube, key);
  const Added added = engine_.Submit(Now(), At(consumer), std::move(job), submission);
  ASSERT_EQ(Code::kOk, added.code);
  if (!joinable.empty()) {
    ASSERT_TRUE(std::count(joinable.begin(), joinable.end(), added.id)) << "step " << steps_;
    return model_.Join(added.id, waiter);
  }
  ASSERT_GT(added.id, last_id_);
  last_id_ = added.id;
  model_.Submit(Now(), added.id, tube, key, priority, waiter, submission.due);
}

void History::Reserve(int consumer) {
  Taken taken;
  Time deadline = kNever;
  if (OneIn(3)) deadline = Now();
  if (OneIn(4)) deadline = After(Now(), SomeSeconds());
  const ReserveResult result = engine_.Reserve(Now(), At(consumer), deadline, taken);
  JobId expected = 0;
  const Model::Reserved word = model_.Reserve(Now(), consumer, deadline, expected);
  ASSERT_EQ(static_cast<int>(word), static_cast<int>(result)) << "step " << steps_;
  ASSERT_EQ(expected, taken.job == nullptr ? 0 : taken.job->id()) << "step " << steps_;
}

void History::Tubes(int consumer) {
  std::string tube = SomeTube();
  if (OneIn(3)) {
    engine_.Use(At(consumer), tube);
    return model_.Use(consumer, tube);
  }
  if (OneIn(3)) {
    if (OneIn(2)) tube = std::to_string(Below(20));
    const Code code = engine_.Ignore(Now(), At(consumer), tube);
    ASSERT_EQ(model_.Ignore(Now(), consumer, tube, false), code == Code::kOk);
    return;
  }
  const bool many = consumer % 3 == 0 && OneIn(4);
  for (int i = 0; i < (many ? 18 : 1); ++i) {
    if (many) tube = std::to_string(i);
    engine_.Watch(Now(), At(consumer), tube);
    model_.Watch(Now(), consumer, tube, 0);
  }
}

void History::Abilities(int consumer) {
  std::string tube = SomeTube();
  if (OneIn(5) && model_.RunningOf(consumer, tube) <= 1) {
    engine_.CantDo(Now(), At(consumer), tube);
    return model_.Unable(Now(), consumer, tube);
  }
  bool few = true;  // the order in which several jobs of one function go back is not promised
  for (const Model::Watched& watch : model_.consumers[consumer].watched) {
    few = few && model_.RunningOf(consumer, watch.tube) <= 1;
  }
  if (OneIn(10) && few) {
    engine_.ResetAbilities(Now(), At(consumer));
    return model_.ResetAbilities(Now(), consumer);
  }
  const Time limit = OneIn(3) ? After(0, SomeSeconds()) : 0;
  const bool many = consumer % 3 == 0 && OneIn(4);
  for (int i = 0; i < (many ? 18 : 1); ++i) {
    if (many) tube = std::to_string(i);
    engine_.Watch(Now(), At(consumer), tube, /*able=*/true, limit);
    model_.Watch(Now(), consumer, tube, limit);
  }
}

void History::WithJob(int consumer, JobId id) {
  Consumer& it = At(consumer);
  const Time now = Now();
  const std::uint32_t priority = SomePriority();
  const std::uint32_t delay_s = OneIn(3) ? SomeSeconds() : 0;
  const auto same = [&](bool expected, Code code) {
    ASSERT_EQ(expected ? Code::kOk : Code::kNotFound, code) << "step " << steps_ << " job " << id;
  };
  switch (Below(9)) {
    case 0:
      return same(model_.Delete(consumer, id), engine_.Delete(now, it, id).code);
    case 1:
      return same(model_.Release(now, consumer, id, priority, delay_s),
                  engine_.Release(now, it, id, priority, delay_s).code);
    case 2:
      return same(model_.Bury(consumer, id, priority), engine_.Bury(now, it, id, priority).code);
    case 3:
      return same(model_.Touch(now, consumer, id), engine_.Touch(now, it, id).code);
    case 4:
      return same(model_.Report(now, consumer, id),
                  engine_.WorkProgress(now, it, id, {Progress::Kind::kStatus, {}, 1, 2}).code);
    case 5:
      return same(model_.Complete(consumer, id), engine_.WorkComplete(now, it, id, "x").code);
    case 6:
      return same(model_.Fail(consumer, id, Model::What::kFailed),
                  engine_.WorkFail(now, it, id).code);
    case 7:
      return same(model_.Fail(consumer, id, Model::What::kException),
                  engine_.WorkException(now, it, id, "x").code);
    default:
      if (!IsBeanstalk(consumer)) return;
      id = SomeJob();
      return same(model_.ReserveJob(now, consumer, id),
                  engine_.ReserveJob(now, it, id).job == nullptr ? Code::kNotFound : Code::kOk);
  }
}

void History::Administrate(int consumer) {
  const JobId id = SomeJob();
  switch (Below(5)) {
    case 0: {
      if (!IsBeanstalk(consumer)) return;
      const int bound = static_cast<int>(Below(3));
      std::optional<KickFrom> from;
      const Kicked kicked =
          engine_.Kick(Now(), At(consumer), static_cast<std::uint64_t>(bound), from);
      ASSERT_EQ(model_.Kick(Now(), consumer, bound), static_cast<int>(kicked.count));
      return;
    }
    case 1:
    case 2:
      ASSERT_EQ(model_.KickJob(Now(), id), engine_.KickJob(Now(), id).ok());
      return;
    case 3:
      ASSERT_EQ(model_.Cancel(id), engine_.Cancel(Now(), id).ok());
      return;
    default: {
      const std::string tube = SomeTube();
      const std::uint32_t seconds = OneIn(3) ? 0 : SomeSeconds() / 100;
      ASSERT_EQ(model_.Pause(Now(), tube, seconds), engine_.Pause(Now(), tube, seconds).ok());
    }
  }
}

void History::Disconnect(int consumer) {
  engine_.Leave(Now(), At(consumer));
  model_.Leave(Now(), consumer);
  // Its next connection is another consumer.
  connections_[consumer] = std::make_unique<Connection>(consumer, told_);
  Connect(consumer);
}

// --- Comparisons

void History::Compare() {
  ASSERT_EQ(model_.told, told_) << "step " << steps_;
  model_.told.clear();
  told_.clear();
  std::size_t count = 0;
  for (const Job* job = engine_.NextJob(0); job != nullptr; job = engine_.NextJob(job->id())) {
    ++count;
  }
  ASSERT_EQ(model_.jobs.size(), count) << "step " << steps_;
  for (const auto& [id, job] : model_.jobs) {
    if (!Same(job)) FAIL() << "job " << id << " at step " << steps_;
  }
  std::vector<const Consumer*> consumers;
  for (int i = 0; i < kConsumers; ++i) {
    consumers.push_back(&At(i));
    ASSERT_EQ(model_.consumers[i].wait != Model::Wait::kNone, At(i).waiting()) << "step " << steps_;
    ASSERT_EQ(model_.consumers[i].watched.size(), At(i).watched().size()) << "step " << steps_;
  }
  ASSERT_EQ("", engine_.CheckInvariants(consumers)) << "step " << steps_;
}

bool History::Same(const Model::Job& expected) {
  const Job* job = engine_.Find(expected.id);
  if (job == nullptr) return false;
  const auto pause = model_.paused.find(expected.tube);
  const Time pause_left = pause == model_.paused.end() ? 0 : pause->second - Now();
  const Time time_left = expected.until == kNever ? 0 : expected.until - Now();
  return job->state() == expected.state && job->tube().name() == expected.tube &&
         job->priority == expected.priority && job->durable == expected.durable &&
         job->rest().lost_tries == expected.lost_tries &&
         job->holder() == (expected.holder < 0 ? nullptr : &At(expected.holder)) &&
         engine_.CountWaiters(*job) == expected.waiters.size() &&
         engine_.TimeLeft(Now(), *job) == time_left &&
         engine_.PauseLeft(Now(), job->tube()) == pause_left;
}

void History::CompareRestarted() {
  KeptJournal journal(journal_.Log());
  Engine restarted(engine_.options(), journal);
  Restart(journal, restarted);
  while (restarted.Tick(Now()) <= Now()) {
  }
  ASSERT_EQ(DurableState(engine_), DurableState(restarted)) << "step " << steps_;
  ASSERT_GE(NextId(restarted), NextId(engine_)) << "step " << steps_;
  ASSERT_EQ("", restarted.CheckInvariants({})) << "step " << steps_;
}

}  // namespace gearstalk
