#pragma once

#include <algorithm>
#include <functional>
#include <utility>

#include "broker/engine/engine.h"
#include "broker/journal/journal.h"
#include "broker/server/server.h"

namespace gearstalk {

// What the loop does for engine and journal.
class EngineWork final : public RoundHooks {
 public:
  EngineWork(SystemClock& clock, Engine& engine, Journal& journal)
      : clock_(clock), engine_(engine), journal_(journal) {}

  // Calls it in every round, after the clients' work; it returns when to be called again.
  void CallLast(std::function<Time(Time)> last) { last_ = std::move(last); }

  // Calls it at the end of every round; it returns whether the next one is to come at once.
  void CallIdle(std::function<bool(Time)> idle) { idle_ = std::move(idle); }

  // Asks in every round how many bytes others hold, which count in limits.memory.
  void CountBeside(std::function<std::size_t()> count) { count_beside_ = std::move(count); }

  void BeginRound() override;
  bool MemoryFull() const override { return engine_.MemoryFull(); }
  Time Fresh() const override { return BootTime(); }
  // A broker that may not serve runs no delays.
  Time Tick(Time now) override {
    Time next = std::min(journal_.Tick(now), std::max(now, trim_again_));
    if (journal_.MayServe()) next = std::min(next, engine_.Tick(now));
    return last_ == nullptr ? next : std::min(next, last_(now));
  }
  void EndRound(Time now) override;
  bool AfterRound(Time now) override;
  Lsn Durable() const override { return journal_.Durable(); }
  bool Behind() const override { return journal_.WaitingBytes() > journal_.MostWaiting(); }
  bool MaySend() const override { return journal_.MayServe(); }
  // While the rest is sent, no round ticks.
  void set_stopping() { stopping_ = true; }

 private:
  // The most bytes in use since memory was given back.
  class Peak {
   public:
    explicit Peak(std::size_t least) : least_(least) {}
    // Whether at least so many were in use, and a quarter is now; then counts anew.
    bool HasPassed(std::size_t used);

   private:
    const std::size_t least_;
    std::size_t most_ = 0;
  };
  static constexpr std::size_t kTubeBytes = 512;  // about what a tube occupies
  static constexpr Time kBuffersPause = 10 * kSecond;

  void GiveMemoryBack(Time now);

  SystemClock& clock_;
  Engine& engine_;
  Journal& journal_;
  bool stopping_ = false;
  std::function<Time(Time)> last_;
  std::function<bool(Time)> idle_;
  std::function<std::size_t()> count_beside_;
  std::size_t beside_ = 0;  // as of the beginning of the round
  Peak used_{32 << 20};     // by jobs, tubes and buffers
  Peak buffers_{8 << 20};   // replies, and records on their way to the disk
  Time trim_again_ = kNever;
};

}  // namespace gearstalk
