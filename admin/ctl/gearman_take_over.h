#pragma once

#include <map>
#include <memory>
#include <string>

#include "admin/ctl/function_drain.h"

namespace gearstalk::ctl {

// Moves the jobs of a gearmand that runs: function by function, as the only worker of each.
class GearmanTakeOver final : public OldServer {
 public:
  using OldServer::OldServer;

  Status Begin() override;
  Status Round(bool& moved) override;
  Status Wait(int ms) override;
  Result<bool> Finish() override;
  Result<std::uint64_t> CountLeft(bool in_report) override;

 private:
  Status CheckBroker() override;
  bool IsOf(const transfer::Mark& mark) const override;
  Status SettleAll();
  Status AwaitEndOf(const std::string& client_id);
  Status SettleOne(const Record& held, const std::string& prefix, bool same_server);
  Result<bool> IsKnown(const std::string& handle);
  Status PumpAll(bool& moved);
  Result<bool> HasWorkers(const std::set<std::string>& functions);

  std::unique_ptr<GearmanClient> admin_{}, broker_admin_{};
  std::string pid_{};  // of the old server
  std::unique_ptr<DrainScope> scope_{};
  JobTable table_{};
  std::map<std::string, std::uint64_t> workers_{};  // of functions, before ours
  std::map<std::string, std::unique_ptr<FunctionDrain>> drains_{};
};

}  // namespace gearstalk::ctl
