#include "admin/ctl/quiet_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/base/clock.h"

namespace gearstalk::ctl {
namespace {

using transfer::Type;

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
  if (all > kFew) {
    if (Status status = BeginWalk(all * kIdsForAJob); !status.ok()) return status;
  }
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
    if (tube.buried > 0) {
      if (Status status = PeekAndMove(tube.name, "peek-buried", true, near, moved); !status.ok()) {
        return status;
      }
    }
    if (tube.delayed == 0) continue;
    if (Status status = PeekAndMove(tube.name, "peek-delayed", false, near, moved); !status.ok()) {
      return status;
    }
    if (!near) continue;
    last.push_back(tube.name);
    others = others || tube.delayed > 1;
  }
  if (others) {
    if (Status status = BeginWalk(kMostForOrder); !status.ok()) return status;
    if (under_way()) return Continue(moved);
  }
  for (const std::string& tube : last) {
    bool near = false;
    if (Status status = PeekAndMove(tube, "peek-delayed", true, near, moved); !status.ok()) {
      return status;
    }
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
    if (const Result<std::string> used = scope_.old.Line(); !used.ok()) return used.status();
    const Result<BeanstalkClient::Answer> found = scope_.old.Body();
    if (!found.ok()) return found.status();
    if (!found.value().found) return {};
    const Result<Yaml> stats = scope_.old.AskYaml(fmt::format("stats-job {}", found.value().id));
    if (!stats.ok()) return stats.status();
    near = stats.value().Get("state") == "delayed" && stats.value().Number("time-left") < kNear;
    if (near && !near_too) return {};
    JobWindow window(scope_);
    window.AddId(found.value().id);
    if (Status status = window.MoveQuiet("delayed buried"); !status.ok()) return status;
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
  const Result<std::uint64_t> probe = scope_.old.ProbeId(scope_.deletes_delayed);
  if (!probe.ok()) return probe.status();
  walked_ = probe.value() > next_ && probe.value() - next_ <= most;
  if (walked_) end_ = probe.value();
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
  while (!held_.empty()) {
    if (Status status = DeleteInOrder(buried_.begin()->first); !status.ok()) return status;
  }
  return {};
}

Status QuietJobs::Find() {
  const std::uint64_t from = next_;
  next_ = std::min(from + kStride, end_);
  for (std::uint64_t id = from; id < next_; ++id) scope_.old.Add(fmt::format("stats-job {}", id));
  for (std::uint64_t id = from; id < next_; ++id) {
    const Result<Yaml> stats = scope_.old.ReadYaml();
    if (!stats.ok()) return stats.status();
    const std::string_view state = stats.value().Get("state");
    const bool delayed = state == "delayed" && scope_.deletes_delayed;
    if (!delayed && state != "buried") continue;
    const std::string tube(stats.value().Get("tube"));
    if (tube == BeanstalkClient::kProbeTube || !scope_.options.Selected(tube)) continue;
    if (state == "buried") {
      buried_[tube].push_back(id);
    } else {
      (stats.value().Number("time-left") < kNear ? near_ : far_).push_back(id);
    }
  }
  return {};
}

// Takes one window from the front of `ids`.
Status QuietJobs::MoveDelayed(Ids& ids) {
  JobWindow window(scope_);
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(std::min(kWindow, ids.size()));
  std::for_each(ids.begin(), end, [&](std::uint64_t id) { window.AddId(id); });
  ids.erase(ids.begin(), end);
  return window.MoveQuiet("delayed");
}

// Only peeks show in which order jobs were buried: holds all of a tube, then deletes them in the
// order of the peeks.
Status QuietJobs::MoveBuried() {
  auto& [tube, ids] = *buried_.begin();
  return ids.empty() ? DeleteInOrder(tube) : HoldBuried(ids);
}

Status QuietJobs::HoldBuried(Ids& ids) {
  JobWindow window(scope_);
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(std::min(kWindow, ids.size()));
  std::for_each(ids.begin(), end, [&](std::uint64_t id) { window.AddId(id); });
  ids.erase(ids.begin(), end);
  window.Describe();
  if (Status status = window.ReadDescribed("buried"); !status.ok()) return status;
  window.Peek();
  if (Status status = window.ReadPeeked(); !status.ok()) return status;
  if (Status status = window.Hold(Record::Held::kSecondPhase); !status.ok()) return status;
  if (Status status = window.ReadHeld(); !status.ok()) return status;
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
  std::vector<JobWindow::InFlight> gone;
  const Result<std::string> used = scope_.old.Ask("use " + tube);
  if (!used.ok()) return used.status();
  scope_.old.Add("peek-buried");
  for (std::size_t count = 1;; ++count) {
    const Result<BeanstalkClient::Answer> oldest = scope_.old.Body();
    if (!oldest.ok()) return oldest.status();
    const auto job = oldest.value().found ? held_.find(oldest.value().id) : held_.end();
    if (job == held_.end()) {
      scope_.missed += held_.size();
      held_.clear();
      buried_.erase(buried_.begin());
      return Commit(gone);
    }
    scope_.old.Add(fmt::format("delete {}", job->first));
    if (count < kWindow) scope_.old.Add("peek-buried");
    const Result<std::string> line = scope_.old.Line();
    if (!line.ok()) return line.status();
    if (line.value() == "DELETED") {
      gone.push_back(std::move(job->second));
    } else {
      ++scope_.missed;
    }
    held_.erase(job);
    if (count == kWindow) return Commit(gone);
  }
}

Status QuietJobs::Commit(std::vector<JobWindow::InFlight>& jobs) {
  if (jobs.empty()) return {};
  std::vector<std::uint64_t> ids;
  ids.reserve(jobs.size());
  for (const JobWindow::InFlight& job : jobs) ids.push_back(job.here);
  scope_.broker.AddMoved(std::move(ids));
  const Result<transfer::Ack> ack = scope_.broker.Sync();
  if (!ack.ok()) return ack.status();
  for (JobWindow::InFlight& job : jobs) {
    job.job.tube = job.tube;
    job.job.body = {};
    scope_.report.Moved(job.job);
  }
  scope_.report.Progress(scope_.report.done, scope_.report.found_bytes);
  return {};
}

}  // namespace gearstalk::ctl
