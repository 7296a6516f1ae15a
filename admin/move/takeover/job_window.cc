#include "admin/move/takeover/job_window.h"

#include <fmt/format.h>

#include <utility>

#include "broker/base/clock.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {

using transfer::Type;

void JobWindow::Add(std::uint64_t id, std::string body) {
  InFlight& job = jobs_.emplace_back();
  job.job.transfer.source_id = id;
  job.body = std::move(body);
}

std::size_t JobWindow::bytes() const {
  std::size_t sum = 0;
  for (const InFlight& each : jobs_) sum += each.body.size();
  return sum;
}

void JobWindow::Forget() {
  std::erase_if(jobs_, [](const InFlight& each) { return each.dropped; });
}

Status JobWindow::ReadAck() {
  if (!std::exchange(awaits_ack_, false)) return {};
  ack_ = GS_TRY(scope_.broker.ReadAck());
  return AsStatus(ack_);
}

void JobWindow::Reserve(std::size_t most) {
  asked_ = most;
  for (std::size_t i = 0; i < most; ++i) scope_.old.Add("reserve-with-timeout 0");
}

Status JobWindow::ReadReserved() {
  for (std::size_t i = 0; i < asked_; ++i) {
    BeanstalkClient::Answer answer = GS_TRY(scope_.old.Body());
    if (!answer.found) continue;
    Add(answer.id, std::move(answer.body));
    scope_.old.Add(fmt::format("stats-job {}", answer.id));
  }
  return {};
}

void JobWindow::Ask(std::string_view command) {
  for (const InFlight& each : jobs_) {
    scope_.old.Add(fmt::format("{} {}", command, each.job.transfer.source_id));
  }
}

void JobWindow::TakeDescription(InFlight& each, const Yaml& yaml, Time now) {
  const auto number = [&](const char* name) {
    return static_cast<std::uint32_t>(yaml.Number(name));
  };
  const std::string_view state = yaml.Get("state");
  each.tube = yaml.Get("tube");
  Record& job = each.job;
  job.state = state == "delayed"  ? Record::State::kDelayed
              : state == "buried" ? Record::State::kBuried
                                  : Record::State::kReady;
  job.priority = number("pri");
  job.ttr_s = number("ttr");
  job.delay_s = number("delay");
  job.created = now - static_cast<Time>(yaml.Number("age")) * kSecond;
  job.counters = {.reserves = number("reserves") - (state == "reserved" ? 1 : 0),
                  .timeouts = number("timeouts"),
                  .releases = number("releases"),
                  .buries = number("buries"),
                  .kicks = number("kicks")};
  job.keep_on_failure = true;
  if (job.state == Record::State::kDelayed) {
    job.due = now + static_cast<Time>(yaml.Number("time-left") + 1) * kSecond;
  }
}

Status JobWindow::ReadDescribed(std::string_view states) {
  const Time now = SystemClock().Now();
  for (InFlight& each : jobs_) {
    const Yaml yaml = GS_TRY(scope_.old.ReadYaml());
    const std::string_view state = yaml.Get("state");
    each.dropped = state.empty() || states.find(state) == std::string_view::npos;
    if (!each.dropped) TakeDescription(each, yaml, now);
  }
  Forget();
  return {};
}

Status JobWindow::ReadPeeked() {
  for (InFlight& each : jobs_) {
    BeanstalkClient::Answer answer = GS_TRY(scope_.old.Body());
    each.dropped = !answer.found;
    each.body = std::move(answer.body);
  }
  Forget();
  return {};
}

Status JobWindow::Hold(Record::Held phase) {
  if (jobs_.empty()) return {};
  for (InFlight& each : jobs_) {
    each.job.transfer.held = phase;
    each.job.id = scope_.keep_ids ? each.job.transfer.source_id : 0;
    each.job.tube = each.tube;
    each.job.body = each.body;
    scope_.broker.Add(Type::kHold, each.job);
  }
  awaits_ack_ = true;
  return scope_.broker.SendSync();
}

Status JobWindow::ReadHeld() {
  if (jobs_.empty()) return {};
  GS_TRY(ReadAck());
  if (ack_.ids.size() != jobs_.size()) return {Code::kIo, "the broker held other jobs"};
  for (std::size_t i = 0; i < jobs_.size(); ++i) jobs_[i].here = ack_.ids[i];
  return {};
}

void JobWindow::Bury() {
  for (const InFlight& each : jobs_) {
    scope_.old.Add(fmt::format("bury {} {}", each.job.transfer.source_id, each.job.priority));
  }
}

// A job that was not buried was no longer reserved by this tool: its TTR had expired.
Status JobWindow::ReadBuried() {
  for (InFlight& each : jobs_) {
    const std::string line = GS_TRY(scope_.old.Line());
    each.dropped = line != "BURIED";
    if (each.dropped) lost_.push_back(each.here);
  }
  Forget();
  return {};
}

Status JobWindow::Confirm() {
  std::vector<std::uint64_t> ids;
  for (const InFlight& each : jobs_) ids.push_back(each.here);
  if (lost_.empty() && ids.empty()) return {};
  if (!lost_.empty()) scope_.broker.AddIds(Type::kDrop, std::exchange(lost_, {}));
  if (!ids.empty()) scope_.broker.AddIds(Type::kConfirm, std::move(ids));
  awaits_ack_ = true;
  return scope_.broker.SendSync();
}

Status JobWindow::ReadDeleted() {
  for (InFlight& each : jobs_) {
    const std::string line = GS_TRY(scope_.old.Line());
    each.dropped = line != "DELETED";
    if (each.dropped) ++scope_.missed;
  }
  Forget();
  return {};
}

Status JobWindow::Commit() {
  if (jobs_.empty()) return {};
  std::vector<std::uint64_t> ids;
  for (const InFlight& each : jobs_) ids.push_back(each.here);
  scope_.broker.AddMoved(std::move(ids));
  awaits_ack_ = true;
  return scope_.broker.SendSync();
}

Status JobWindow::ReadCommitted() {
  GS_TRY(ReadAck());
  for (InFlight& each : jobs_) {
    each.job.tube = each.tube;
    each.job.body = each.body;
    scope_.report.Moved(each.job);
  }
  scope_.report.Progress(scope_.report.done, scope_.report.found_bytes);
  return {};
}

Status JobWindow::MoveReserved() {
  Ask("stats-job");
  GS_TRY(ReadDescribed("reserved"));
  GS_TRY(Hold(Record::Held::kFirstPhase));
  GS_TRY(ReadHeld());
  Bury();
  GS_TRY(ReadBuried());
  GS_TRY(Confirm());
  GS_TRY(ReadAck());
  return DeleteAndCommit();
}

Status JobWindow::DeleteAndCommit() {
  Ask("delete");
  GS_TRY(ReadDeleted());
  return CommitNow();
}

Status JobWindow::CommitNow() {
  if (jobs_.empty()) return {};
  GS_TRY(Commit());
  return ReadCommitted();
}

Status JobWindow::HoldQuiet(std::string_view states) {
  Ask("stats-job");
  GS_TRY(ReadDescribed(states));
  Ask("peek");
  GS_TRY(ReadPeeked());
  GS_TRY(Hold(Record::Held::kSecondPhase));
  return ReadHeld();
}

Status JobWindow::MoveQuiet(std::string_view states) {
  GS_TRY(HoldQuiet(states));
  return DeleteAndCommit();
}

}  // namespace gearstalk::ctl
