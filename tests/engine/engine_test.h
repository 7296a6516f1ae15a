#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"
#include "broker/engine/engine.h"
#include "tests/support/kept_journal.h"
#include "tests/support/recording_consumer.h"
#include "tests/support/recording_observer.h"

namespace gearstalk {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What a job is made with, in beanstalk's terms.
struct Spec {
  std::uint32_t priority = 1024;
  std::uint32_t delay_s = 0;
  std::uint32_t ttr_s = 60;
  std::string_view body = "body";
  std::string_view unique = {};
};

JobPtr MakeJob(const Spec& spec);

// What Reserve and Grab came to, in a word: "reserved <id>", "waits", "deadline soon",
// "timed out", "none".
std::string Word(ReserveResult result, const Taken& taken);

// As a caller does who has all the time.
const Job* FindUnique(const Engine& engine, std::string_view unique);

// An engine on a journal in memory, with a clock that only the test moves. Whatever a test did,
// the engine's counts have to be right at its end.
class EngineTest : public ::testing::Test {
 protected:
  explicit EngineTest(EngineOptions options = {}) : engine(options, journal) {}
  ~EngineTest() override;
  void TearDown() override { ExpectSound(); }

  // A beanstalk connection: uses and watches "default".
  RecordingConsumer& Connect();
  // A beanstalk connection that uses and watches `tube`.
  RecordingConsumer& Connect(std::string_view tube);
  // A Gearman connection that can do `functions`.
  RecordingConsumer& Worker(std::initializer_list<std::string_view> functions, Time run_limit = 0);
  RecordingObserver& Client();
  void Leave(RecordingConsumer& consumer) {
    while (!engine.Leave(Now(), consumer)) continue;
  }

  JobId Put(RecordingConsumer& producer, const Spec& spec = {});
  JobId PutInto(std::string_view tube, const Spec& spec = {});
  // Gearman's submit: in background without `waiter`.
  Added Submit(std::string_view tube, const Spec& spec, RecordingObserver* waiter = nullptr,
               Time due = 0);
  JobId Background(std::string_view tube) { return Submit(tube, {.ttr_s = 0}).id; }
  JobId Foreground(std::string_view tube, RecordingObserver& waiter) {
    return Submit(tube, {.ttr_s = 0}, &waiter).id;
  }

  std::string Reserve(RecordingConsumer& consumer) { return ReserveUntil(consumer, kNever); }
  std::string ReserveFor(RecordingConsumer& consumer, std::uint64_t seconds) {
    return ReserveUntil(consumer, After(Now(), seconds));
  }
  std::string ReserveUntil(RecordingConsumer& consumer, Time deadline);
  std::string Grab(RecordingConsumer& worker);
  void Sleep(RecordingConsumer& worker) { engine.Sleep(Now(), worker); }
  // A beanstalk connection that waits on `tubes`.
  RecordingConsumer& Waiting(const std::vector<std::string>& tubes);
  // The same, on so many tubes more that it is no longer in the lines of the tubes.
  RecordingConsumer& WaitingWide(const std::string& tube);
  RecordingConsumer& Sleeping(std::initializer_list<std::string_view> functions);
  std::uint64_t Kick(RecordingConsumer& consumer, std::uint64_t bound);

  // Moves the clock, at once, and lets the engine do what is due.
  void Pass(Time by);

  Time Now() const { return clock.Now(); }
  // "ready", "reserved", "delayed", "buried" or "gone".
  std::string_view State(JobId id) const;
  const Tube& At(std::string_view tube) const;
  void ExpectSound() const;

  FakeClock clock;
  KeptJournal journal;
  Engine engine;

 private:
  std::vector<std::unique_ptr<RecordingConsumer>> consumers_;
  std::vector<std::unique_ptr<RecordingObserver>> observers_;
  RecordingConsumer* producer_ = nullptr;
};

}  // namespace gearstalk
