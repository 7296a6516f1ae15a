#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "admin/move/takeover/job_window.h"

namespace gearstalk::ctl {

// Moves the delayed and buried jobs of a beanstalkd. They are never reserved there: they are held
// in phase 2 and deleted as they lie. Delayed jobs that are due within a minute come last, because
// those that fall due while they are in flight may become uncertain.
//
// A few are found by peek-delayed and peek-buried, one by one. Many are found by a walk over the
// ids that no walk has seen; peeks find those that became delayed or buried behind it. Each call
// does a slice of the work, so that ready jobs move in between.
class QuietJobs {
 public:
  struct Tube {
    std::string name;
    std::uint64_t delayed = 0, buried = 0;
  };

  explicit QuietJobs(MoveScope& scope) : scope_(scope) {}

  // A slice while no walk is under way. `moved`: there may be more to do.
  Status Begin(const std::vector<Tube>& tubes, bool& moved);
  // A walk, until all that it found has moved.
  bool under_way() const;
  Status Continue(bool& moved);
  // Moves what is held here and not yet deleted there.
  Status Finish();

 private:
  using Ids = std::vector<std::uint64_t>;

  Status MoveByPeeks(const std::vector<Tube>& tubes, bool& moved);
  Status PeekAndMove(const std::string& tube, const char* peek, bool near_too, bool& near,
                     bool& moved);
  Status BeginWalk(std::uint64_t most);
  Status Find();
  // Takes one window from the front of `ids`.
  JobWindow TakeWindow(Ids& ids);
  Status MoveDelayed(Ids& ids);
  Status MoveBuried();
  Status HoldBuried(Ids& ids);
  Status DeleteInOrder(const std::string& tube);

  MoveScope& scope_;
  std::uint64_t next_ = 1, end_ = 1;                   // ids that the walk looks at
  bool walked_ = false;                                // since the last peeks
  std::size_t peeks_ = 0;                              // that are left of the slice
  Ids far_, near_;                                     // of delayed jobs
  std::map<std::string, Ids, std::less<>> buried_;     // by tube
  std::map<std::uint64_t, JobWindow::InFlight> held_;  // of the first of these tubes
};

}  // namespace gearstalk::ctl
