#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "admin/ctl/job_window.h"

namespace gearstalk::ctl {

// Moves the delayed and buried jobs of a beanstalkd. They are never reserved there: they are held
// in phase 2 and deleted as they lie. Delayed jobs that are due within a minute come last, because
// those that fall due while they are in flight may become uncertain.
//
// A few are found by peek-delayed and peek-buried, one by one; many by a walk over all ids.
class QuietJobs {
 public:
  struct Tube {
    std::string name;
    std::uint64_t delayed = 0, buried = 0;
  };

  explicit QuietJobs(MoveScope& scope) : scope_(scope) {}

  Status Move(const std::vector<Tube>& tubes, bool& moved);

 private:
  using Ids = std::vector<std::uint64_t>;

  Status MoveByPeeks(const std::vector<Tube>& tubes, bool& moved);
  Status PeekAndMove(const std::string& tube, const char* peek, bool near_too, bool& near,
                     bool& moved);
  Status Walk(const std::vector<Tube>& tubes, std::uint64_t most, bool& walked, bool& moved);
  Status Find(const std::vector<Tube>& tubes, std::uint64_t from, std::uint64_t to);
  Status MoveDelayed(Ids& ids, std::size_t least, bool& moved);
  Status MoveBuried(const std::string& tube, const Ids& ids, bool& moved);
  Status HoldBuried(const Ids& ids, std::vector<JobWindow>& windows);
  Status DeleteInOrder(const std::string& tube,
                       std::map<std::uint64_t, JobWindow::InFlight*>& held);
  Status Commit(std::vector<JobWindow::InFlight*>& jobs);

  MoveScope& scope_;
  Ids far_, near_;                                  // of delayed jobs
  std::map<std::string, Ids, std::less<>> buried_;  // by tube
};

}  // namespace gearstalk::ctl
