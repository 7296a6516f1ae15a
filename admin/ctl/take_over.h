#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "admin/ctl/beanstalk_client.h"
#include "admin/ctl/old_server.h"
#include "admin/ctl/settle.h"

namespace gearstalk::ctl {

// Moves the jobs of a beanstalkd that runs.
class TakeOver final : public OldServer {
 public:
  using OldServer::OldServer;

  Status Begin() override;
  Status Round(bool& moved) override;
  Status CountLeft(bool in_report, std::uint64_t& waiting) override;

 private:
  // A job in flight. Its body lives until the window is over.
  struct InFlight {
    transfer::Job job;
    std::string tube, body;
    std::uint64_t here = 0;  // id of the held job
    bool dropped = false;
  };

  Status ReadInstance();
  Status RaiseIds(transfer::Opening& opening);
  Status SettleAll();
  Status SettleOne(const transfer::Job& held, const std::string& body, bool& waits);
  Result<OldJob> LookUp(std::uint64_t id, const std::string& body);
  Status FindTubes();

  Status MoveReady(bool& moved);
  Status Describe(std::vector<InFlight>& jobs);
  Status HoldAll(std::vector<InFlight>& jobs, std::uint32_t phase);
  Status BuryAll(std::vector<InFlight>& jobs);
  Status DeleteAll(std::vector<InFlight>& jobs);
  Status CommitAll(std::vector<InFlight>& jobs);
  Status MoveQuiet(const std::string& tube, const char* peek, bool& moved);
  Status MovePaused(const std::string& tube, bool& moved);
  Status MoveWindow(std::vector<InFlight>& jobs);

  std::unique_ptr<BeanstalkClient> old_;
  std::vector<std::string> tubes_, watched_;
  std::string instance_;
  bool keep_ids_ = false, server_lost_all_ = false, was_connected_ = false, can_reserve_job_ = true;
};

}  // namespace gearstalk::ctl
