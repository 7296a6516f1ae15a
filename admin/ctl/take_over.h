#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "admin/ctl/beanstalk_client.h"
#include "admin/ctl/job_window.h"
#include "admin/ctl/old_server.h"
#include "admin/ctl/quiet_jobs.h"

namespace gearstalk::ctl {

// Moves the jobs of a beanstalkd that runs.
class TakeOver final : public OldServer {
 public:
  using OldServer::OldServer;

  Status Begin() override;
  Status Round(bool& moved) override;
  Result<bool> Finish() override;
  Result<std::uint64_t> CountLeft(bool in_report) override;

 private:
  static constexpr std::size_t kFirstWindow = 4, kMostWindow = 256;
  static constexpr std::size_t kWindowBytes = 16 << 20;

  // Of one round; then other tubes, delayed and buried jobs have their turn.
  static constexpr std::size_t kMostReady = 16 * 1024;

  Status CheckBroker() override;
  bool IsOf(const transfer::Mark& mark) const override;
  Status ReadInstance();
  Status RaiseIds(transfer::Opening& opening);
  Status SettleAll();
  Status ListTubes();
  Status WatchTubes();
  Status DeleteProbe();
  Result<std::vector<Yaml>> ReadStats();  // of the tubes

  Status MoveReady(bool& moved);
  Status Overlap(JobWindow& before, JobWindow& now, JobWindow& next);
  Status Reserve(JobWindow& window, std::size_t asked);
  void ChooseWindow(const JobWindow& last, std::size_t asked);
  Status SetPause(const std::string& tube, const Yaml& stats);
  Status ReservePaused(JobWindow& window);
  Status MovePaused(const std::string& tube, bool& moved);
  Status BeginQuiet(bool& moved);

  std::unique_ptr<BeanstalkClient> old_;
  std::unique_ptr<MoveScope> scope_;
  std::unique_ptr<QuietJobs> quiet_;
  std::vector<std::string> tubes_, watched_;
  std::map<std::string, Time> pauses_;  // ends of those that were set here
  std::string instance_;
  std::size_t window_ = kFirstWindow;
  bool full_ = false;  // the last window was: there may be more
  bool has_log_ = true, was_connected_ = false, can_reserve_job_ = true;
  bool deletes_delayed_ = true;  // beanstalkd 1.4 refuses to
};

}  // namespace gearstalk::ctl
