#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "admin/move/settle.h"
#include "admin/move/takeover/job_window.h"

namespace gearstalk::ctl {

// The held jobs that an interrupted take-over from beanstalkd has left. The rules of settle.h
// decide what becomes of each.
class Leftovers {
 public:
  // `facts`: what is the same for all of them.
  Leftovers(MoveScope& scope, const SettleFacts& facts) : scope_(scope), facts_(facts) {}

  // Decides about all of them; waits for commands that a dead connection may still run there.
  Status Settle();

 private:
  using Jobs = std::span<const OwnedRecord>;
  using Held = std::vector<const OwnedRecord*>;
  using HeldById = std::map<std::uint64_t, const OwnedRecord*>;  // there

  Status SettleWindow(Jobs jobs, bool& again);
  Result<std::vector<OldJob>> LookUp(Jobs jobs);
  Status DeleteAll(const Held& jobs, Held& gone, bool& again);
  Status Commit(const Held& gone, const Held& uncertain);
  Settlement Decide(const Record& job, const OldJob& there) const;
  Status DeleteBuried(const std::string& tube, HeldById& jobs, bool& again);

  MoveScope& scope_;
  const SettleFacts facts_;
  std::map<std::string, HeldById> buried_;  // that are still buried there, by tube
};

}  // namespace gearstalk::ctl
