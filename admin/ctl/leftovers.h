#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "admin/ctl/job_window.h"
#include "admin/ctl/settle.h"

namespace gearstalk::ctl {

// The held jobs that an interrupted take-over from beanstalkd has left. The rules of settle.h
// decide what becomes of each.
class Leftovers {
 public:
  // The facts that are the same for all of them.
  struct Facts {
    bool same_server = true, server_lost_all = false, connected = true;
  };

  Leftovers(MoveScope& scope, const Facts& facts) : scope_(scope), facts_(facts) {}

  // Decides about all of them; waits for commands that a dead connection may still run there.
  Status Settle();

 private:
  using Jobs = std::span<const transfer::OwnedRecord>;

  Status SettleWindow(Jobs jobs, bool& again);
  Result<std::vector<OldJob>> LookUp(Jobs jobs);
  Status DeleteAll(std::vector<const transfer::OwnedRecord*>& jobs,
                   std::vector<const transfer::OwnedRecord*>& gone);
  Status Commit(const std::vector<const transfer::OwnedRecord*>& gone,
                const std::vector<const transfer::OwnedRecord*>& uncertain);
  Settlement Decide(const Record& job, const OldJob& there) const;
  Status DeleteBuried(const std::string& tube,
                      std::map<std::uint64_t, const transfer::OwnedRecord*>& jobs, bool& again);

  MoveScope& scope_;
  const Facts facts_;
  // Held jobs that are still buried there, by tube and by their id there.
  std::map<std::string, std::map<std::uint64_t, const transfer::OwnedRecord*>> buried_;
};

}  // namespace gearstalk::ctl
