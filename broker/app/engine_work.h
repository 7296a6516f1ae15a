#pragma once

#include <algorithm>

#include "admin/loop_lag.h"
#include "broker/engine/engine.h"
#include "broker/journal/journal.h"
#include "broker/server/server.h"

namespace gearstalk {

// What the loop does for engine and journal.
class EngineWork final : public Work {
 public:
  EngineWork(Engine& engine, Journal& journal) : engine_(engine), journal_(journal) {}

  // Tells it of every round from now on.
  void Watch(LoopLag& lag) { lag_ = &lag; }

  Time Tick(Time now) override {
    const Time next = std::min(engine_.Tick(now), std::max(now, trim_again_));
    return lag_ == nullptr ? next : std::min(next, lag_->Note(now));
  }
  void EndRound(Time now) override;
  Lsn Durable() const override { return journal_.Durable(); }
  bool Behind() const override { return journal_.WaitingBytes() > kMaxWaiting; }

 private:
  static constexpr std::uint64_t kMaxWaiting = 32 << 20;  // bytes
  static constexpr std::size_t kPeak = 32 << 20;          // bytes
  static constexpr std::size_t kTubeBytes = 512;          // about what a tube occupies

  void GiveMemoryBack(Time now);

  Engine& engine_;
  Journal& journal_;
  LoopLag* lag_ = nullptr;
  std::size_t peak_ = 0;  // of jobs and tubes since memory was given back
  Time trim_again_ = kNever;
};

}  // namespace gearstalk
