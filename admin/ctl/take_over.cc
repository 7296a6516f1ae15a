#include "admin/ctl/take_over.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "admin/ctl/leftovers.h"
#include "admin/ctl/same_server.h"
#include "broker/base/clock.h"

namespace gearstalk::ctl {
namespace {

using transfer::Type;

constexpr std::string_view kProcess = "pid ";

}  // namespace

Status TakeOver::Begin() {
  Result<std::unique_ptr<Channel>> channel = Connect(options_.Old());
  if (!channel.ok()) return channel.status();
  old_ = std::make_unique<BeanstalkClient>(std::move(channel.value()));
  // This process was connected before: that connection ended together with the old server's
  // process.
  was_connected_ = report_.mark_before.has_value();
  if (Status status = ReadInstance(); !status.ok()) return status;
  const auto prepare = [&](transfer::Opening& opening) {
    return options_.ids == "keep" ? RaiseIds(opening) : Status();
  };
  if (Status status = OpenTransfer(prepare); !status.ok()) return status;
  scope_ = std::make_unique<MoveScope>(
      MoveScope{options_, report_, *old_, *broker_, before_.keep_ids, deletes_delayed_, 0});
  quiet_ = std::make_unique<QuietJobs>(*scope_);
  if (Status status = SettleAll(); !status.ok() || options_.stopped()) return status;
  broker_->Add(Type::kAdvance, transfer::Mark{.state = instance_});
  before_.state = instance_;
  return Sync();
}

Status TakeOver::CheckBroker() { return RefuseSame(*old_, options_.target); }

// A process number may be that of another server.
bool TakeOver::IsOf(const transfer::Mark& mark) const {
  return (mark.state == instance_ && !instance_.starts_with(kProcess)) ||
         SameEndpoint(AddressOf(mark.fingerprint), AddressOf(options_.source));
}

// A probe job shows the highest id there; ours begin far above it.
Status TakeOver::RaiseIds(transfer::Opening& opening) {
  const Result<std::uint64_t> probe = old_->ProbeId(deletes_delayed_);
  if (!probe.ok()) return probe.status();
  if (probe.value() == 0) return {Code::kIo, options_.source + " takes no probe"};
  opening.ids = transfer::Ids::kKeep;
  opening.smallest_id = 1;
  opening.next_id = probe.value() + (std::uint64_t{1} << 32);
  return {};
}

Status TakeOver::ReadInstance() {
  const Result<Yaml> stats = old_->AskStats();
  if (!stats.ok()) return stats.status();
  instance_ = stats.value().Get("id");
  // beanstalkd before 1.9 has no id.
  if (instance_.empty()) instance_ = fmt::format("{}{}", kProcess, stats.value().Get("pid"));
  const std::string_view version = stats.value().Get("version");
  deletes_delayed_ = version != "1.4" && !version.starts_with("1.4.");
  has_log_ = stats.value().Number("binlog-current-index") != 0;
  return {};
}

// Settles what an interrupted run left, and jobs that somebody else took there.
Status TakeOver::SettleAll() {
  const bool same = before_.state.empty() || before_.state == instance_;
  Leftovers leftovers(
      *scope_,
      {.same_server = same, .server_lost_all = !same && !has_log_, .connected = was_connected_});
  return leftovers.Settle();
}

// A run that was killed may have left its probe.
Status TakeOver::DeleteProbe() {
  const Result<std::string> used = old_->Ask(fmt::format("use {}", BeanstalkClient::kProbeTube));
  if (!used.ok()) return used.status();
  for (const char* const peek : {"peek-delayed", "peek-ready"}) {
    old_->Add(peek);
    const Result<BeanstalkClient::Answer> probe = old_->Body();
    if (!probe.ok()) return probe.status();
    if (!probe.value().found) continue;
    const Result<std::string> deleted = old_->Ask(fmt::format("delete {}", probe.value().id));
    if (!deleted.ok()) return deleted.status();
  }
  const Result<std::string> left = old_->Ask("use default");
  return left.ok() ? Status() : left.status();
}

// --- Moving
Status TakeOver::ListTubes() {
  Result<std::vector<std::string>> all = old_->AskList("list-tubes");
  if (!all.ok()) return all.status();
  tubes_.clear();
  for (std::string& tube : all.value()) {
    if (tube == BeanstalkClient::kProbeTube) {
      if (Status status = DeleteProbe(); !status.ok()) return status;
    } else if (options_.Selected(tube)) {
      tubes_.push_back(std::move(tube));
    }
  }
  return {};
}

Status TakeOver::WatchTubes() {
  std::vector<std::string> commands;
  for (const std::string& tube : tubes_) {
    const bool known = std::find(watched_.begin(), watched_.end(), tube) != watched_.end();
    if (!known) commands.push_back("watch " + tube);
  }
  if (watched_.empty() && !tubes_.empty() && !options_.Selected("default")) {
    commands.push_back("ignore default");
  }
  for (const std::string& command : commands) old_->Add(command);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (const Result<std::string> line = old_->Line(); !line.ok()) return line.status();
  }
  watched_ = tubes_;
  return {};
}

// Windows grow while jobs come, up to the limit of their bodies' bytes.
void TakeOver::ChooseWindow(const JobWindow& last, std::size_t asked) {
  full_ = asked > 0 && last.size() == asked;
  if (!full_) {
    window_ = kFirstWindow;
    return;
  }
  const std::size_t each = last.bytes() / last.size() + 1;
  const std::size_t most = std::clamp<std::size_t>(kWindowBytes / each, 1, kMostWindow);
  window_ = std::min(window_ * 4, most);
}

Status TakeOver::Reserve(JobWindow& window, std::size_t asked) {
  if (Status status = window.ReadReserved(); !status.ok()) return status;
  ChooseWindow(window, asked);
  return old_->Flush();
}

// One window is marked and deleted there while the next one is read and held here. Jobs of the next
// one are reserved behind the marks, so none is in two windows.
Status TakeOver::Overlap(JobWindow& before, JobWindow& now, JobWindow& next) {
  const std::size_t asked = full_ && !options_.stopped() ? window_ : 0;
  if (Status status = now.ReadHeld(); !status.ok()) return status;
  now.Bury();
  next.Reserve(asked);
  if (Status status = old_->Flush(); !status.ok()) return status;
  if (Status status = before.ReadCommitted(); !status.ok()) return status;
  if (Status status = now.ReadBuried(); !status.ok()) return status;
  if (Status status = now.Confirm(); !status.ok()) return status;
  if (Status status = Reserve(next, asked); !status.ok()) return status;
  if (Status status = now.ReadConfirmed(); !status.ok()) return status;
  now.Delete();
  if (Status status = old_->Flush(); !status.ok()) return status;
  if (Status status = next.ReadDescribed("reserved"); !status.ok()) return status;
  if (Status status = next.Hold(Record::Held::kFirstPhase); !status.ok()) return status;
  if (Status status = now.ReadDeleted(); !status.ok()) return status;
  return now.Commit();
}

Status TakeOver::MoveReady(bool& moved) {
  if (tubes_.empty()) return {};
  auto before = std::make_unique<JobWindow>(*scope_), next = std::make_unique<JobWindow>(*scope_);
  const std::size_t asked = window_;
  next->Reserve(asked);
  if (Status status = Reserve(*next, asked); !status.ok()) return status;
  if (Status status = next->ReadDescribed("reserved"); !status.ok()) return status;
  if (Status status = next->Hold(Record::Held::kFirstPhase); !status.ok()) return status;
  for (std::size_t count = 0; !next->empty();) {
    moved = true;
    count += next->size();
    full_ = full_ && count < kMostReady;
    auto now = std::exchange(next, std::make_unique<JobWindow>(*scope_));
    if (Status status = Overlap(*before, *now, *next); !status.ok()) return status;
    before = std::move(now);
  }
  return before->ReadCommitted();
}

// Sets the rest of the pause at the broker, once for each tube.
Status TakeOver::SetPause(const std::string& tube, const Yaml& stats) {
  const Time end =
      SystemClock().Now() + static_cast<Time>(stats.Number("pause-time-left")) * kSecond;
  Time& known = pauses_[tube];
  if (std::abs(end - known) <= 2 * kSecond) return {};
  known = end;
  Record record;
  record.kind = Record::Kind::kTube;
  record.tube = tube;
  record.settings.pause_until = end;
  record.settings.pause_s = static_cast<std::uint32_t>(stats.Number("pause"));
  broker_->Add(Type::kTube, record);
  return Sync();
}

// `reserve` returns no job of a paused tube; `reserve-job` does.
Status TakeOver::ReservePaused(JobWindow& window) {
  for (std::size_t i = 0; i < kMostWindow && window.bytes() < kWindowBytes; ++i) {
    old_->Add("peek-ready");
    const Result<BeanstalkClient::Answer> found = old_->Body();
    if (!found.ok()) return found.status();
    if (!found.value().found) return {};
    old_->Add(fmt::format("reserve-job {}", found.value().id));
    Result<BeanstalkClient::Answer> reserved = old_->Body();
    if (!reserved.ok()) return reserved.status();
    // beanstalkd before 1.12 takes it for a malformed "reserve".
    can_reserve_job_ = reserved->found || reserved->line == "NOT_FOUND";
    if (!reserved->found) return {};
    window.Add(reserved->id, std::move(reserved->body));
  }
  return {};
}

Status TakeOver::MovePaused(const std::string& tube, bool& moved) {
  if (const Result<std::string> used = old_->Ask("use " + tube); !used.ok()) return used.status();
  JobWindow window(*scope_);
  if (Status status = ReservePaused(window); !status.ok()) return status;
  if (window.empty()) return {};
  moved = true;
  return window.MoveReserved();
}

Status TakeOver::ReadStats(std::vector<Yaml>& of_tubes) {
  for (const std::string& tube : tubes_) old_->Add("stats-tube " + tube);
  for (std::size_t i = 0; i < tubes_.size(); ++i) {
    Result<Yaml> stats = old_->ReadYaml();
    if (!stats.ok()) return stats.status();
    of_tubes.push_back(std::move(stats.value()));
  }
  return {};
}

Status TakeOver::Round(bool& moved) {
  moved = false;
  if (Status status = ListTubes(); !status.ok()) return status;
  if (Status status = WatchTubes(); !status.ok()) return status;
  if (Status status = MoveReady(moved); !status.ok()) return status;
  Status status = quiet_->under_way() ? quiet_->Continue(moved) : BeginQuiet(moved);
  if (!status.ok() || scope_->missed == 0 || quiet_->under_way()) return status;
  return SettleAll();
}

Status TakeOver::BeginQuiet(bool& moved) {
  std::vector<Yaml> stats;
  if (Status status = ReadStats(stats); !status.ok()) return status;
  std::vector<QuietJobs::Tube> quiet;
  for (std::size_t i = 0; i < tubes_.size(); ++i) {
    quiet.push_back({tubes_[i], deletes_delayed_ ? stats[i].Number("current-jobs-delayed") : 0,
                     stats[i].Number("current-jobs-buried")});
    if (stats[i].Number("pause-time-left") == 0) continue;
    if (Status status = SetPause(tubes_[i], stats[i]); !status.ok()) return status;
    if (!can_reserve_job_ || options_.stopped()) continue;
    if (Status status = MovePaused(tubes_[i], moved); !status.ok()) return status;
  }
  return quiet_->Begin(quiet, moved);
}

Status TakeOver::Finish(bool& unfinished) {
  unfinished = false;
  if (Status status = quiet_->Finish(); !status.ok()) return status;
  return scope_->missed > 0 ? SettleAll() : Status();
}

Status TakeOver::CountLeft(bool in_report, std::uint64_t& waiting) {
  waiting = 0;
  if (Status status = ListTubes(); !status.ok()) return status;
  std::vector<Yaml> stats;
  if (Status status = ReadStats(stats); !status.ok()) return status;
  for (std::size_t i = 0; i < tubes_.size(); ++i) {
    const std::uint64_t reserved = stats[i].Number("current-jobs-reserved");
    waiting += reserved;
    if (!in_report) continue;
    AddLeft(tubes_[i], reserved, "are reserved by others");
    const std::uint64_t delayed = stats[i].Number("current-jobs-delayed");
    AddLeft(tubes_[i], stats[i].Number("current-jobs-ready"),
            can_reserve_job_ ? "are ready and were not moved"
                             : "are in a paused tube: beanstalkd gives them out since 1.12");
    AddLeft(tubes_[i], delayed,
            deletes_delayed_ ? "are delayed and were not moved"
                             : "are delayed: beanstalkd deletes such jobs since 1.5");
    AddLeft(tubes_[i], stats[i].Number("current-jobs-buried"), "are buried and were not moved");
  }
  return {};
}

}  // namespace gearstalk::ctl
