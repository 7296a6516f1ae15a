#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "broker/base/clock.h"
#include "broker/engine/engine.h"
#include "tests/engine/model.h"
#include "tests/engine/segmented_journal.h"

namespace gearstalk {

// A random history of an engine with clients of both protocols, and of the model next to it. Each
// step does the same to both and compares what they answered, whom they told what, and where every
// job is. The same seed gives the same history.
class History {
 public:
  History(std::uint64_t seed, EngineOptions options);
  ~History();

  void Step();
  // Whether it came to a point from which it could go on in more than one way.
  bool over() const { return over_; }
  // Replays the journal into a second engine, which has to come to the same durable state.
  void CompareRestarted();

 private:
  static constexpr int kBeanstalk = 7, kGearman = 7, kConsumers = kBeanstalk + kGearman;
  static constexpr int kObservers = 3;

  class Connection;
  class Caller;

  std::uint64_t Below(std::uint64_t bound) { return random_() % bound; }
  bool OneIn(std::uint64_t chances) { return Below(chances) == 0; }
  Time Now() const { return clock_.Now(); }
  bool IsBeanstalk(int consumer) const { return consumer < kBeanstalk; }
  std::string SomeTube();
  JobId SomeJob();
  JobId SomeJobOf(int consumer);
  std::uint32_t SomePriority();
  std::uint32_t SomeSeconds() { return static_cast<std::uint32_t>(1 + Below(400'000)); }
  Consumer& At(int consumer);

  void Connect(int consumer);
  void Pass();
  void Beanstalk(int consumer);
  void Gearman(int consumer);
  void WithJob(int consumer, JobId id);
  void Put(int consumer);
  void Submit(int consumer);
  void Reserve(int consumer);
  void Tubes(int consumer);
  void Abilities(int consumer);
  void Administrate(int consumer);
  void Disconnect(int consumer);
  void Compare();
  bool Same(const Model::Job& expected);

  std::mt19937_64 random_;
  FakeClock clock_;
  SegmentedJournal journal_;
  Engine engine_;
  Model model_;
  std::vector<Model::Told> told_;  // by the engine
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Caller>> callers_;
  JobId last_id_ = 0;
  std::uint64_t steps_ = 0;
  bool over_ = false;
};

}  // namespace gearstalk
