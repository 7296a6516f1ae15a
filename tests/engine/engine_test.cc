#include "tests/engine/engine_test.h"

#include <algorithm>

#include "broker/base/check.h"

namespace gearstalk {

JobPtr MakeJob(const Spec& spec) {
  JobPtr job = Job::New(static_cast<std::uint32_t>(spec.body.size()), spec.unique);
  std::copy(spec.body.begin(), spec.body.end(), job->space().begin());
  job->priority = spec.priority;
  job->delay_s = spec.delay_s;
  job->ttr_s = spec.ttr_s;
  return job;
}

const Job* FindUnique(const Engine& engine, std::string_view unique) {
  std::uint64_t last = 0;
  const Job* job = nullptr;
  do job = engine.FindUnique(unique, last);
  while (job == nullptr && last != 0);
  return job;
}

std::string Word(ReserveResult result, const Taken& taken) {
  switch (result) {
    case ReserveResult::kTaken:
      return "reserved " + std::to_string(taken.job->id());
    case ReserveResult::kWaits:
      return "waits";
    case ReserveResult::kDeadlineSoon:
      return "deadline soon";
    case ReserveResult::kTimedOut:
      return "timed out";
  }
  return "";
}

EngineTest::~EngineTest() {
  for (const auto& consumer : consumers_) Leave(*consumer);
  for (const auto& observer : observers_) {
    while (!engine.Forget(*observer)) continue;
  }
}

RecordingConsumer& EngineTest::Connect() { return Connect("default"); }

RecordingConsumer& EngineTest::Connect(std::string_view tube) {
  RecordingConsumer& consumer = *consumers_.emplace_back(std::make_unique<RecordingConsumer>());
  engine.Join(consumer);
  engine.Use(consumer, tube);
  engine.Watch(Now(), consumer, tube);
  return consumer;
}

RecordingConsumer& EngineTest::Worker(std::initializer_list<std::string_view> functions,
                                      Time run_limit) {
  RecordingConsumer& worker = *consumers_.emplace_back(std::make_unique<RecordingConsumer>());
  engine.Join(worker);
  for (const std::string_view function : functions) {
    engine.Watch(Now(), worker, function, /*able=*/true, run_limit);
  }
  return worker;
}

RecordingObserver& EngineTest::Client() {
  return *observers_.emplace_back(std::make_unique<RecordingObserver>());
}

JobId EngineTest::Put(RecordingConsumer& producer, const Spec& spec) {
  const Added added = engine.Put(Now(), producer, MakeJob(spec));
  EXPECT_EQ(Code::kOk, added.code);
  return added.id;
}

JobId EngineTest::PutInto(std::string_view tube, const Spec& spec) {
  if (producer_ == nullptr) producer_ = &Worker({});
  engine.Use(*producer_, tube);
  const JobId id = Put(*producer_, spec);
  engine.Use(*producer_, "default");
  return id;
}

Added EngineTest::Submit(std::string_view tube, const Spec& spec, RecordingObserver* waiter,
                         Time due) {
  if (producer_ == nullptr) producer_ = &Worker({});
  Submission submission;
  submission.tube = tube;
  submission.waiter = waiter;
  submission.due = due;
  submission.unique_is_body = spec.unique == "-";
  return engine.Submit(Now(), *producer_, MakeJob(spec), submission);
}

std::string EngineTest::ReserveUntil(RecordingConsumer& consumer, Time deadline) {
  Taken taken;
  const ReserveResult result = engine.Reserve(Now(), consumer, deadline, taken);
  return Word(result, taken);
}

RecordingConsumer& EngineTest::Waiting(const std::vector<std::string>& tubes) {
  RecordingConsumer& consumer = Connect(tubes.front());
  for (const std::string& tube : tubes) engine.Watch(Now(), consumer, tube);
  EXPECT_EQ("waits", Reserve(consumer));
  return consumer;
}

RecordingConsumer& EngineTest::WaitingWide(const std::string& tube) {
  std::vector<std::string> tubes{tube};
  for (std::size_t i = 0; i < WatchList::kWide; ++i) tubes.push_back(tube + std::to_string(i));
  return Waiting(tubes);
}

RecordingConsumer& EngineTest::Sleeping(std::initializer_list<std::string_view> functions) {
  RecordingConsumer& worker = Worker(functions);
  Sleep(worker);
  return worker;
}

std::string EngineTest::Grab(RecordingConsumer& worker) {
  const Taken taken = engine.Grab(Now(), worker);
  return taken.job == nullptr ? "none" : Word(ReserveResult::kTaken, taken);
}

std::uint64_t EngineTest::Kick(RecordingConsumer& consumer, std::uint64_t bound) {
  std::optional<KickFrom> from;
  return engine.Kick(Now(), consumer, bound, from).count;
}

void EngineTest::Pass(Time by) {
  clock.Advance(by);
  while (engine.Tick(Now()) <= Now()) {
  }
}

std::string_view EngineTest::State(JobId id) const {
  constexpr std::string_view kNames[] = {"ready", "reserved", "delayed", "buried", "gone"};
  const Job* job = engine.Find(id);
  return kNames[static_cast<std::size_t>(job == nullptr ? JobState::kGone : job->state())];
}

const Tube& EngineTest::At(std::string_view name) const {
  const Tube* tube = engine.FindTube(name);
  GS_CHECK(tube != nullptr);
  return *tube;
}

void EngineTest::ExpectSound() const {
  std::vector<const Consumer*> all;
  for (const auto& consumer : consumers_) all.push_back(consumer.get());
  EXPECT_EQ("", engine.CheckInvariants(all));
}

}  // namespace gearstalk
