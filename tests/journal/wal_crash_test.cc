// The process dies, or the power goes, at every single call to the disk; what is read back is a
// state that was there, and none older than what a client was told of.

#include <gtest/gtest.h>

#include "tests/journal/rig.h"
#include "tests/journal/script.h"

namespace gearstalk {
namespace {

using Loss = FaultyFileSystem::Loss;

struct Outcome {
  Loss loss;
  std::uint32_t seed;
};
constexpr Outcome kOutcomes[] = {
    {Loss::kNone, 0}, {Loss::kAll, 0}, {Loss::kSome, 1}, {Loss::kSome, 2}, {Loss::kSome, 3}};

constexpr int kRounds = 80;

std::uint64_t CallsOfARun(std::size_t& changes) {
  Rig rig;
  EXPECT_TRUE(rig.Start().ok());
  Script script(rig);
  script.Begin();
  script.Run(kRounds);
  changes = script.changes();
  EXPECT_EQ(script.acknowledged() + 1, script.changes());
  EXPECT_GT(rig.journal->Segments().oldest, 5U) << "the script has to compact";
  EXPECT_GT(rig.journal->Segments().migrated, 10U) << "the script has to compact";
  return rig.disk.calls();
}

// Runs until the call; returns whether it was reached before the end.
void RunUntil(Rig& rig, Script& script, std::uint64_t call, std::size_t torn) {
  rig.disk.StopAt(call, torn);
  if (!rig.Start().ok()) return;
  script.Begin();
  script.Run(kRounds);
}

// Starts again, checks, goes on working, and checks that.
void ExpectRecovery(Rig& rig, const Script& script, const std::string& where) {
  const Status started = rig.Start();
  ASSERT_TRUE(started.ok()) << where << ": " << started.message();
  if (script.changes() > 0) {
    ASSERT_TRUE(script.Explains(rig.model->state())) << where;
  } else {
    ASSERT_TRUE(SameJobs(rig.model->state(), Model::State())) << where;
  }
  Script more(rig, 2);
  more.Begin();
  more.Run(5);
  ASSERT_EQ(more.acknowledged() + 1, more.changes()) << where;
  ASSERT_TRUE(SurvivesRestart(rig)) << where;
}

TEST(WalCrash, AtEveryCall) {
  std::size_t changes = 0;
  const std::uint64_t calls = CallsOfARun(changes);
  for (std::uint64_t call = 1; call <= calls + 1; ++call) {
    for (const Outcome& outcome : kOutcomes) {
      Rig rig;
      Script script(rig);
      RunUntil(rig, script, call, 0);
      rig.journal.reset();
      rig.disk.Restart(outcome.loss, outcome.seed);
      ExpectRecovery(rig, script,
                     "call " + std::to_string(call) + " seed " + std::to_string(outcome.seed));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(WalCrash, InTheMiddleOfEveryWrite) {
  std::size_t changes = 0;
  const std::uint64_t calls = CallsOfARun(changes);
  for (std::uint64_t call = 1; call <= calls; ++call) {
    for (const std::size_t torn : {1, 7, 8, 31, 33, 47, 48, 60, 64, 70, 100, 500}) {
      Rig rig;
      Script script(rig);
      RunUntil(rig, script, call, torn);
      rig.journal.reset();
      rig.disk.Restart(Loss::kNone);
      ExpectRecovery(rig, script,
                     "call " + std::to_string(call) + " torn at " + std::to_string(torn));
      if (HasFatalFailure()) return;
    }
  }
}

// At every call of a recovery from a crash, and again at every call of the next.
TEST(WalCrash, DuringRecovery) {
  std::size_t changes = 0;
  const std::uint64_t calls = CallsOfARun(changes);
  for (std::uint64_t call = 20; call <= calls; call += 17) {
    for (const Outcome& outcome : kOutcomes) {
      bool done = false;
      for (std::uint64_t second = 1; !done; ++second) {
        Rig rig;
        Script script(rig);
        RunUntil(rig, script, call, 40);
        rig.journal.reset();
        rig.disk.Restart(outcome.loss, outcome.seed);
        rig.disk.StopAt(rig.disk.calls() + second);
        done = rig.Start().ok() && rig.journal->Health().ok();
        rig.journal.reset();
        rig.disk.Restart(outcome.loss, outcome.seed + 7);
        ExpectRecovery(rig, script,
                       "calls " + std::to_string(call) + " and " + std::to_string(second));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Without a sync after each batch a power cut may take changes back, but never out of order, and a
// crash of the process alone takes none.
TEST(WalCrash, WithoutSyncsAPrefixIsLeft) {
  std::size_t changes = 0;
  const std::uint64_t calls = CallsOfARun(changes);
  for (std::uint64_t call = 1; call <= calls; ++call) {
    for (const Outcome& outcome : kOutcomes) {
      Rig rig;
      rig.options.sync = Sync::kSystem;
      Script script(rig);
      RunUntil(rig, script, call, 0);
      rig.journal.reset();
      rig.disk.Restart(outcome.loss, outcome.seed);
      const Status started = rig.Start();
      ASSERT_TRUE(started.ok()) << call << ": " << started.message();
      const bool acknowledged_count = outcome.loss == Loss::kNone;
      if (script.changes() > 0) {
        ASSERT_TRUE(script.Explains(rig.model->state(), acknowledged_count)) << call;
      }
    }
  }
}

}  // namespace
}  // namespace gearstalk
