#include "admin/move/takeover/quiet_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

constexpr std::size_t kWindow = 256;
constexpr std::uint64_t kStride = 1024;  // ids that are asked for at once
constexpr std::size_t kMostPeeks = 64;   // of a slice
constexpr std::uint64_t kNear = 60;      // seconds
// Up to kFew jobs are moved by peeking. Beyond that, a walk pays while it takes fewer than
// kIdsForAJob ids for each job.
constexpr std::uint64_t kFew = 4, kIdsForAJob = 500;
// The longest walk, in ids, only to find the jobs behind one that has to move last.
constexpr std::uint64_t kMostForOrder = 200'000;

}  // namespace

Status QuietJobs::Begin(const std::vector<Tube>& tubes, bool& moved) {
  std::uint64_t all = 0;
  for (const Tube& tube : tubes) all += tube.delayed + tube.buried;
  if (all == 0) return {};
  if (all > kFew) GS_TRY(BeginWalk(all * kIdsForAJob));
  if (under_way()) return Continue(moved);
  return MoveByPeeks(tubes, moved);
}

// --- One by one
Status QuietJobs::MoveByPeeks(const std::vector<Tube>& tubes, bool& moved) {
  std::vector<std::string> last;
  bool others = false;
  peeks_ = kMostPeeks;
  for (const Tube& tube : tubes) {
    bool near = false;
    if (tube.buried > 0) GS_TRY(PeekAndMove(tube.name, "peek-buried", true, near, moved));
    if (tube.delayed == 0) continue;
    GS_TRY(PeekAndMove(tube.name, "peek-delayed", false, near, moved));
    if (!near) continue;
    last.push_back(tube.name);
    others = others || tube.delayed > 1;
  }
  if (others) {
    GS_TRY(BeginWalk(kMostForOrder));
    if (under_way()) return Continue(moved);
  }
  for (const std::string& tube : last) {
    bool near = false;
    GS_TRY(PeekAndMove(tube, "peek-delayed", true, near, moved));
  }
  walked_ = false;
  return {};
}

// `near`: it ended at a job that is due within a minute.
Status QuietJobs::PeekAndMove(const std::string& tube, const char* peek, bool near_too, bool& near,
                              bool& moved) {
  for (; peeks_ > 0 && !scope_.options.stopped(); --peeks_) {
    scope_.old.Add("use " + tube);
    scope_.old.Add(peek);
    GS_TRY(scope_.old.Line());
    const BeanstalkClient::Answer next = GS_TRY(scope_.old.Body());
    if (!next.found) return {};
    const Yaml stats = GS_TRY(scope_.old.AskYaml(fmt::format("stats-job {}", next.id)));
    near = stats.Get("state") == "delayed" && stats.Number("time-left") < kNear;
    if (near && !near_too) return {};
    JobWindow window(scope_);
    window.Add(next.id);
    GS_TRY(window.MoveQuiet("delayed buried"));
    if (window.empty()) return {};
    moved = true;
  }
  return {};
}

// --- By a walk
bool QuietJobs::under_way() const {
  return next_ < end_ || !far_.empty() || !buried_.empty() || !near_.empty();
}

// Over the ids that are new since the last walk, unless there are more than `most`.
Status QuietJobs::BeginWalk(std::uint64_t most) {
  if (walked_) return {};
  const std::uint64_t probe = GS_TRY(scope_.old.ProbeId(scope_.deletes_delayed));
  walked_ = probe > next_ && probe - next_ <= most;
  if (walked_) end_ = probe;
  return {};
}

Status QuietJobs::Continue(bool& moved) {
  moved = true;
  const bool all_found = next_ == end_;
  if (far_.size() >= kWindow || (all_found && !far_.empty())) return MoveDelayed(far_);
  if (!all_found) return Find();
  return buried_.empty() ? MoveDelayed(near_) : MoveBuried();
}

Status QuietJobs::Finish() {
  while (!held_.empty()) GS_TRY(DeleteInOrder(buried_.begin()->first));
  return {};
}

Status QuietJobs::Find() {
  const std::uint64_t from = next_;
  next_ = std::min(from + kStride, end_);
  for (std::uint64_t id = from; id < next_; ++id) scope_.old.Add(fmt::format("stats-job {}", id));
  for (std::uint64_t id = from; id < next_; ++id) {
    const Yaml stats = GS_TRY(scope_.old.ReadYaml());
    const std::string_view state = stats.Get("state");
    const bool delayed = state == "delayed" && scope_.deletes_delayed;
    if (!delayed && state != "buried") continue;
    const std::string tube(stats.Get("tube"));
    if (tube == BeanstalkClient::kProbeTube || !scope_.options.selection.Has(tube)) continue;
    if (state == "buried") {
      buried_[tube].push_back(id);
    } else {
      (stats.Number("time-left") < kNear ? near_ : far_).push_back(id);
    }
  }
  return {};
}

JobWindow QuietJobs::TakeWindow(Ids& ids) {
  JobWindow window(scope_);
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(std::min(kWindow, ids.size()));
  std::for_each(ids.begin(), end, [&](std::uint64_t id) { window.Add(id); });
  ids.erase(ids.begin(), end);
  return window;
}

Status QuietJobs::MoveDelayed(Ids& ids) {
  JobWindow window = TakeWindow(ids);
  return window.MoveQuiet("delayed");
}

// Only peeks show in which order jobs were buried: holds all of a tube, then deletes them in the
// order of the peeks.
Status QuietJobs::MoveBuried() {
  auto& [tube, ids] = *buried_.begin();
  return ids.empty() ? DeleteInOrder(tube) : HoldBuried(ids);
}

Status QuietJobs::HoldBuried(Ids& ids) {
  JobWindow window = TakeWindow(ids);
  GS_TRY(window.HoldQuiet("buried"));
  // The broker has the bodies.
  for (JobWindow::InFlight& job : window.jobs()) {
    scope_.report.found_bytes += job.body.size();
    std::string().swap(job.body);
    const std::uint64_t id = job.job.transfer.source_id;
    held_.emplace(id, std::move(job));
  }
  return {};
}

// Deletes a window; leaves the tube when its oldest buried job is not held.
Status QuietJobs::DeleteInOrder(const std::string& tube) {
  JobWindow gone(scope_);
  GS_TRY(scope_.old.Ask("use " + tube));
  scope_.old.Add("peek-buried");
  for (std::size_t count = 1;; ++count) {
    const BeanstalkClient::Answer oldest = GS_TRY(scope_.old.Body());
    const auto job = oldest.found ? held_.find(oldest.id) : held_.end();
    if (job == held_.end()) {
      scope_.missed += held_.size();
      held_.clear();
      buried_.erase(buried_.begin());
      return gone.CommitNow();
    }
    scope_.old.Add(fmt::format("delete {}", job->first));
    if (count < kWindow) scope_.old.Add("peek-buried");
    const std::string line = GS_TRY(scope_.old.Line());
    if (line == "DELETED") {
      gone.Add(std::move(job->second));
    } else {
      ++scope_.missed;
    }
    held_.erase(job);
    if (count == kWindow) return gone.CommitNow();
  }
}

}  // namespace gearstalk::ctl
