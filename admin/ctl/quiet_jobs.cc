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
constexpr std::uint64_t kNear = 60;      // seconds
// Up to kFew jobs are moved by peeking. Beyond that, a walk pays while it takes fewer than
// kIdsForAJob ids for each job.
constexpr std::uint64_t kFew = 4, kIdsForAJob = 500;
// The longest walk, in ids, only to find the jobs behind one that has to move last.
constexpr std::uint64_t kMostForOrder = 200'000;

}  // namespace

Status QuietJobs::Move(const std::vector<Tube>& tubes, bool& moved) {
  std::uint64_t all = 0;
  for (const Tube& tube : tubes) all += tube.delayed + tube.buried;
  if (all == 0) return {};
  bool walked = false;
  if (all > kFew) {
    if (Status status = Walk(tubes, all * kIdsForAJob, walked, moved); !status.ok()) return status;
  }
  return walked ? Status() : MoveByPeeks(tubes, moved);
}

// --- One by one
Status QuietJobs::MoveByPeeks(const std::vector<Tube>& tubes, bool& moved) {
  std::vector<Tube> last;
  bool others = false, walked = false;
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
    last.push_back(tube);
    others = others || tube.delayed > 1;
  }
  if (others) {
    if (Status status = Walk(last, kMostForOrder, walked, moved); !status.ok()) return status;
  }
  for (const Tube& tube : last) {
    bool near = false;
    if (Status status = PeekAndMove(tube.name, "peek-delayed", true, near, moved); !status.ok()) {
      return status;
    }
  }
  return {};
}

// `near`: it ended at a job that is due within a minute.
Status QuietJobs::PeekAndMove(const std::string& tube, const char* peek, bool near_too, bool& near,
                              bool& moved) {
  while (!scope_.options.stopped()) {
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
// Walks over all ids, unless there are more than `most`.
Status QuietJobs::Walk(const std::vector<Tube>& tubes, std::uint64_t most, bool& walked,
                       bool& moved) {
  const Result<std::uint64_t> probe = scope_.old.ProbeId(scope_.deletes_delayed);
  if (!probe.ok()) return probe.status();
  const std::uint64_t end = probe.value();
  walked = end > 0 && end <= most;
  if (!walked) return {};
  far_.clear();
  near_.clear();
  buried_.clear();
  for (std::uint64_t from = 1; from < end && !scope_.options.stopped(); from += kStride) {
    if (Status status = Find(tubes, from, std::min(from + kStride, end)); !status.ok()) {
      return status;
    }
    if (Status status = MoveDelayed(far_, kWindow, moved); !status.ok()) return status;
  }
  if (Status status = MoveDelayed(far_, 1, moved); !status.ok()) return status;
  for (const auto& [tube, ids] : buried_) {
    if (scope_.options.stopped()) return {};
    if (Status status = MoveBuried(tube, ids, moved); !status.ok()) return status;
  }
  return MoveDelayed(near_, 1, moved);
}

Status QuietJobs::Find(const std::vector<Tube>& tubes, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t id = from; id < to; ++id) scope_.old.Add(fmt::format("stats-job {}", id));
  for (std::uint64_t id = from; id < to; ++id) {
    const Result<Yaml> stats = scope_.old.ReadYaml();
    if (!stats.ok()) return stats.status();
    const std::string_view state = stats.value().Get("state");
    const bool delayed = state == "delayed" && scope_.deletes_delayed;
    if (!delayed && state != "buried") continue;
    const std::string_view tube = stats.value().Get("tube");
    const bool selected = std::any_of(tubes.begin(), tubes.end(),
                                      [&](const Tube& each) { return each.name == tube; });
    if (!selected) continue;
    if (state == "buried") {
      buried_[std::string(tube)].push_back(id);
    } else {
      (stats.value().Number("time-left") < kNear ? near_ : far_).push_back(id);
    }
  }
  return {};
}

// Takes windows from the front of `ids` while there are at least so many.
Status QuietJobs::MoveDelayed(Ids& ids, std::size_t least, bool& moved) {
  std::size_t from = 0;
  while (ids.size() - from >= least && !scope_.options.stopped()) {
    JobWindow window(scope_);
    for (const std::size_t to = std::min(from + kWindow, ids.size()); from < to; ++from) {
      window.AddId(ids[from]);
    }
    if (Status status = window.MoveQuiet("delayed"); !status.ok()) return status;
    moved = moved || !window.empty();
  }
  ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(from));
  return {};
}

// Only peeks show in which order jobs were buried: holds all of them, then deletes them in the
// order of the peeks.
Status QuietJobs::MoveBuried(const std::string& tube, const Ids& ids, bool& moved) {
  std::vector<JobWindow> windows;
  if (Status status = HoldBuried(ids, windows); !status.ok()) return status;
  std::map<std::uint64_t, JobWindow::InFlight*> held;
  for (JobWindow& window : windows) {
    for (JobWindow::InFlight& job : window.jobs()) held.emplace(job.job.source_id, &job);
  }
  moved = moved || !held.empty();
  if (Status status = DeleteInOrder(tube, held); !status.ok()) return status;
  scope_.missed += held.size();
  return {};
}

Status QuietJobs::HoldBuried(const Ids& ids, std::vector<JobWindow>& windows) {
  for (std::size_t from = 0; from < ids.size();) {
    JobWindow& window = windows.emplace_back(scope_);
    for (const std::size_t to = std::min(from + kWindow, ids.size()); from < to; ++from) {
      window.AddId(ids[from]);
    }
    window.Describe();
    if (Status status = window.ReadDescribed("buried"); !status.ok()) return status;
    window.Peek();
    if (Status status = window.ReadPeeked(); !status.ok()) return status;
    if (Status status = window.Hold(2); !status.ok()) return status;
    if (Status status = window.ReadHeld(); !status.ok()) return status;
    // The broker has the bodies.
    for (JobWindow::InFlight& job : window.jobs()) {
      scope_.report.found_bytes += job.body.size();
      std::string().swap(job.body);
    }
  }
  return {};
}

Status QuietJobs::DeleteInOrder(const std::string& tube,
                                std::map<std::uint64_t, JobWindow::InFlight*>& held) {
  std::vector<JobWindow::InFlight*> gone;
  const Result<std::string> used = scope_.old.Ask("use " + tube);
  if (!used.ok()) return used.status();
  scope_.old.Add("peek-buried");
  while (true) {
    const Result<BeanstalkClient::Answer> oldest = scope_.old.Body();
    if (!oldest.ok()) return oldest.status();
    const auto job = oldest.value().found ? held.find(oldest.value().id) : held.end();
    if (job == held.end()) return Commit(gone);
    scope_.old.Add(fmt::format("delete {}", job->first));
    scope_.old.Add("peek-buried");
    const Result<std::string> line = scope_.old.Line();
    if (!line.ok()) return line.status();
    if (line.value() == "DELETED") {
      gone.push_back(job->second);
    } else {
      ++scope_.missed;
    }
    held.erase(job);
    if (gone.size() < kWindow) continue;
    if (Status status = Commit(gone); !status.ok()) return status;
  }
}

Status QuietJobs::Commit(std::vector<JobWindow::InFlight*>& jobs) {
  if (jobs.empty()) return {};
  std::vector<std::uint64_t> ids;
  ids.reserve(jobs.size());
  for (const JobWindow::InFlight* job : jobs) ids.push_back(job->here);
  scope_.broker.AddIds(Type::kCommit, std::move(ids));
  const Result<transfer::Ack> ack = scope_.broker.Sync();
  if (!ack.ok()) return ack.status();
  for (JobWindow::InFlight* job : std::exchange(jobs, {})) {
    job->job.tube = job->tube;
    job->job.body = {};
    scope_.report.Moved(job->job);
  }
  scope_.report.Progress(scope_.report.done, scope_.report.found_bytes);
  return {};
}

}  // namespace gearstalk::ctl
