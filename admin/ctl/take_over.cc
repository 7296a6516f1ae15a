#include "admin/ctl/take_over.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "broker/base/clock.h"

namespace gearstalk::ctl {
namespace {

using transfer::JobState;
using transfer::Type;

constexpr std::size_t kWindow = 256;
constexpr int kSettleTries = 600;  // tenths of a second

Time Now() { return SystemClock().Now(); }

}  // namespace

Status TakeOver::Begin() {
  Result<std::unique_ptr<Channel>> channel = Connect(options_.Address());
  if (!channel.ok()) return channel.status();
  old_ = std::make_unique<BeanstalkClient>(std::move(channel.value()));
  // An earlier connection of this process ended with that life of the old server.
  was_connected_ = report_.mark_before.has_value();
  const auto prepare = [&](transfer::Opening& opening) {
    return options_.ids == "keep" ? RaiseIds(opening) : Status();
  };
  if (Status status = OpenTransfer(prepare); !status.ok()) return status;
  keep_ids_ = before_.keep_ids;
  if (Status status = ReadInstance(); !status.ok()) return status;
  return SettleAll();
}

// A probe there says how far its ids are; ours begin far above them.
Status TakeOver::RaiseIds(transfer::Opening& opening) {
  old_->Add("use gearstalkctl-probe");
  old_->AddPut(0, 3600, 60, "");
  if (const Result<std::string> used = old_->Line(); !used.ok()) return used.status();
  const Result<std::string> inserted = old_->Line();
  if (!inserted.ok()) return inserted.status();
  if (!inserted.value().starts_with("INSERTED ")) {
    return {Code::kIo, options_.source + " takes no probe: " + inserted.value()};
  }
  const std::string id = inserted.value().substr(9);
  if (const Result<std::string> deleted = old_->Ask("delete " + id); !deleted.ok()) {
    return deleted.status();
  }
  opening.ids = transfer::Ids::kKeep;
  opening.smallest_id = 1;
  opening.next_id = std::stoull(id) + (std::uint64_t{1} << 32);
  return {};
}

Status TakeOver::ReadInstance() {
  const Result<BeanstalkClient::Yaml> stats = old_->AskYaml("stats");
  if (!stats.ok()) return stats.status();
  const auto id = stats.value().find("id");
  instance_ = id == stats.value().end() ? "" : id->second;
  server_lost_all_ = !before_.state.empty() && before_.state != instance_ &&
                     NumberIn(stats.value(), "binlog-current-index") == 0;
  return {};
}

// --- What an interrupted run left
Result<OldJob> TakeOver::LookUp(std::uint64_t id, const std::string& body) {
  old_->Add(fmt::format("stats-job {}", id));
  old_->Add(fmt::format("peek {}", id));
  const Result<BeanstalkClient::Yaml> stats = old_->ReadYaml();
  if (!stats.ok()) return stats.status();
  const Result<BeanstalkClient::Answer> peeked = old_->Body();
  if (!peeked.ok()) return peeked.status();
  OldJob job;
  if (stats.value().empty() || !peeked.value().found || peeked.value().body != body) return job;
  const std::string& state = stats.value().find("state")->second;
  job.state = state == "ready"      ? OldJob::State::kReady
              : state == "reserved" ? OldJob::State::kReserved
              : state == "delayed"  ? OldJob::State::kDelayed
                                    : OldJob::State::kBuried;
  job.reserves = NumberIn(stats.value(), "reserves");
  job.buries = NumberIn(stats.value(), "buries");
  return job;
}

Status TakeOver::SettleOne(const transfer::Job& held, const std::string& body, bool& waits) {
  const Result<OldJob> there = LookUp(held.source_id, body);
  if (!there.ok()) return there.status();
  const SettleFacts facts{.phase = held.held,
                          .was = held.state,
                          .reserves = held.reserves,
                          .buries = held.buries,
                          .due = held.state == JobState::kDelayed && held.due <= Now(),
                          .server_lost_all = server_lost_all_,
                          .connected = was_connected_};
  Settlement settlement = Settle(facts, there.value());
  waits = settlement == Settlement::kWait;
  if (waits) return {};
  if (settlement == Settlement::kDrop) {
    broker_->AddIds(Type::kDrop, {held.id});
    const Result<transfer::Ack> ack = broker_->Sync();
    return ack.ok() ? Status() : ack.status();
  }
  if (settlement == Settlement::kGoOn) {
    broker_->AddIds(Type::kConfirm, {held.id});
    if (const Result<transfer::Ack> ack = broker_->Sync(); !ack.ok()) return ack.status();
  }
  if (settlement == Settlement::kGoOn || settlement == Settlement::kDelete) {
    const Result<std::string> gone = old_->Ask(fmt::format("delete {}", held.source_id));
    if (!gone.ok()) return gone.status();
  }
  if (settlement == Settlement::kCommitUncertain) {
    transfer::Mark change;
    change.jobs.push_back({.key = std::to_string(held.source_id),
                           .tube = std::string(held.tube),
                           .job = held.id,
                           .kind = transfer::OutcomeKind::kUncertain,
                           .text = "it was gone from the old server, where it may have run"});
    broker_->Add(Type::kAdvance, change);
  }
  broker_->AddIds(Type::kCommit, {held.id});
  if (const Result<transfer::Ack> ack = broker_->Sync(); !ack.ok()) return ack.status();
  report_.Moved(held);
  return {};
}

Status TakeOver::SettleAll() {
  for (int tries = 0; tries < kSettleTries && !options_.stopped(); ++tries) {
    std::vector<std::unique_ptr<Held>> left;
    if (Status status = ReadHeld(left); !status.ok()) return status;
    bool waiting = false;
    for (const auto& each : left) {
      bool waits = false;
      if (Status status = SettleOne(each->job, each->body, waits); !status.ok()) return status;
      waiting = waiting || waits;
    }
    if (!waiting) {
      broker_->Add(Type::kAdvance, transfer::Mark{.state = instance_});
      return Sync();
    }
    ::usleep(100'000);
  }
  return {Code::kIo, "jobs of a connection that is dead stay reserved in " + options_.source};
}

// --- Moving
Status TakeOver::FindTubes() {
  Result<std::vector<std::string>> all = old_->AskList("list-tubes");
  if (!all.ok()) return all.status();
  tubes_.clear();
  for (std::string& tube : all.value()) {
    if (options_.Selected(tube)) tubes_.push_back(std::move(tube));
  }
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

Status TakeOver::Describe(std::vector<InFlight>& jobs) {
  for (const InFlight& each : jobs) old_->Add(fmt::format("stats-job {}", each.job.source_id));
  const Time now = Now();
  for (InFlight& each : jobs) {
    const Result<BeanstalkClient::Yaml> stats = old_->ReadYaml();
    if (!stats.ok()) return stats.status();
    const BeanstalkClient::Yaml& yaml = stats.value();
    const auto number = [&](const char* name) {
      return static_cast<std::uint32_t>(NumberIn(yaml, name));
    };
    each.dropped = yaml.empty();
    if (each.dropped) continue;
    const std::string state = yaml.find("state")->second;
    each.tube = yaml.find("tube")->second;
    transfer::Job& job = each.job;
    job.state = state == "delayed"  ? JobState::kDelayed
                : state == "buried" ? JobState::kBuried
                                    : JobState::kReady;
    job.priority = number("pri");
    job.ttr_s = number("ttr");
    job.delay_s = number("delay");
    job.created = now - static_cast<Time>(NumberIn(yaml, "age")) * kSecond;
    job.reserves = number("reserves") - (state == "reserved" ? 1 : 0);
    job.timeouts = number("timeouts");
    job.releases = number("releases");
    job.buries = number("buries");
    job.kicks = number("kicks");
    job.keep_on_failure = true;
    if (job.state == JobState::kDelayed) {
      job.due = now + static_cast<Time>(NumberIn(yaml, "time-left") + 1) * kSecond;
    }
  }
  std::erase_if(jobs, [](const InFlight& each) { return each.dropped; });
  return {};
}

Status TakeOver::HoldAll(std::vector<InFlight>& jobs, std::uint32_t phase) {
  for (InFlight& each : jobs) {
    each.job.held = phase;
    each.job.id = keep_ids_ ? each.job.source_id : 0;
    each.job.tube = each.tube;
    each.job.body = each.body;
    broker_->Add(Type::kHold, each.job, each.body);
  }
  const Result<transfer::Ack> ack = broker_->Sync();
  if (!ack.ok()) return ack.status();
  if (ack.value().ids.size() != jobs.size()) return {Code::kIo, "the broker held other jobs"};
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].here = ack.value().ids[i];
  return {};
}

Status TakeOver::BuryAll(std::vector<InFlight>& jobs) {
  for (const InFlight& each : jobs) {
    old_->Add(fmt::format("bury {} {}", each.job.source_id, each.job.priority));
  }
  std::vector<std::uint64_t> lost, ours;
  for (InFlight& each : jobs) {
    const Result<std::string> line = old_->Line();
    if (!line.ok()) return line.status();
    each.dropped = line.value() != "BURIED";  // its ttr ran out
    (each.dropped ? lost : ours).push_back(each.here);
  }
  if (!lost.empty()) broker_->AddIds(Type::kDrop, lost);
  if (!ours.empty()) broker_->AddIds(Type::kConfirm, ours);
  const Result<transfer::Ack> ack = broker_->Sync();
  if (!ack.ok()) return ack.status();
  std::erase_if(jobs, [](const InFlight& each) { return each.dropped; });
  return {};
}

Status TakeOver::DeleteAll(std::vector<InFlight>& jobs) {
  for (const InFlight& each : jobs) old_->Add(fmt::format("delete {}", each.job.source_id));
  std::vector<InFlight*> missed;
  for (InFlight& each : jobs) {
    const Result<std::string> line = old_->Line();
    if (!line.ok()) return line.status();
    if (line.value() != "DELETED") missed.push_back(&each);
  }
  // Taken by somebody there before we came: the rules of an interruption decide.
  for (InFlight* each : missed) {
    transfer::Job held = each->job;
    held.id = each->here;
    held.tube = each->tube;
    held.held = 2;
    bool waits = false;
    each->dropped = true;
    if (Status status = SettleOne(held, each->body, waits); !status.ok()) return status;
    if (waits) return {Code::kIo, "a job changed hands in the old server"};
  }
  std::erase_if(jobs, [](const InFlight& each) { return each.dropped; });
  return {};
}

Status TakeOver::CommitAll(std::vector<InFlight>& jobs) {
  std::vector<std::uint64_t> ids;
  for (const InFlight& each : jobs) ids.push_back(each.here);
  if (ids.empty()) return {};
  broker_->AddIds(Type::kCommit, ids);
  const Result<transfer::Ack> ack = broker_->Sync();
  if (!ack.ok()) return ack.status();
  for (InFlight& each : jobs) {
    each.job.tube = each.tube;
    each.job.body = each.body;
    report_.Moved(each.job);
  }
  report_.Progress(report_.done, report_.found_bytes);
  return {};
}

// Jobs that are reserved by us.
Status TakeOver::MoveWindow(std::vector<InFlight>& jobs) {
  if (Status status = Describe(jobs); !status.ok()) return status;
  if (jobs.empty()) return {};
  if (Status status = HoldAll(jobs, 1); !status.ok()) return status;
  if (Status status = BuryAll(jobs); !status.ok()) return status;
  if (Status status = DeleteAll(jobs); !status.ok()) return status;
  return CommitAll(jobs);
}

Status TakeOver::MoveReady(bool& moved) {
  if (tubes_.empty()) return {};
  while (!options_.stopped()) {
    for (std::size_t i = 0; i < kWindow; ++i) old_->Add("reserve-with-timeout 0");
    std::vector<InFlight> jobs;
    for (std::size_t i = 0; i < kWindow; ++i) {
      Result<BeanstalkClient::Answer> answer = old_->Body();
      if (!answer.ok()) return answer.status();
      if (!answer->found) continue;
      InFlight& job = jobs.emplace_back();
      job.job.source_id = answer->id;
      job.body = std::move(answer->body);
    }
    if (jobs.empty()) return {};
    moved = true;
    const bool full = jobs.size() == kWindow;
    if (Status status = MoveWindow(jobs); !status.ok()) return status;
    if (!full) return {};
  }
  return {};
}

// Delayed and buried jobs are never reserved: they are held in phase 2 and deleted as they lie
// there.
Status TakeOver::MoveQuiet(const std::string& tube, const char* peek, bool& moved) {
  while (!options_.stopped()) {
    old_->Add("use " + tube);
    old_->Add(peek);
    if (const Result<std::string> used = old_->Line(); !used.ok()) return used.status();
    Result<BeanstalkClient::Answer> found = old_->Body();
    if (!found.ok()) return found.status();
    if (!found->found) return {};
    std::vector<InFlight> jobs(1);
    jobs[0].job.source_id = found->id;
    jobs[0].body = std::move(found->body);
    if (Status status = Describe(jobs); !status.ok()) return status;
    if (jobs.empty() || jobs[0].job.state == JobState::kReady) return {};
    moved = true;
    if (Status status = HoldAll(jobs, 2); !status.ok()) return status;
    if (Status status = DeleteAll(jobs); !status.ok()) return status;
    if (Status status = CommitAll(jobs); !status.ok()) return status;
  }
  return {};
}

// Of a paused tube `reserve` gives nothing; the rest of the pause is set here.
Status TakeOver::MovePaused(const std::string& tube, bool& moved) {
  const Result<BeanstalkClient::Yaml> stats = old_->AskYaml("stats-tube " + tube);
  if (!stats.ok()) return stats.status();
  const std::uint64_t left = NumberIn(stats.value(), "pause-time-left");
  if (left == 0) return {};
  broker_->Add(
      Type::kTube,
      transfer::Tube{.tube = tube,
                     .pause_until = Now() + static_cast<Time>(left) * kSecond,
                     .pause_s = static_cast<std::uint32_t>(NumberIn(stats.value(), "pause"))});
  if (const Result<transfer::Ack> ack = broker_->Sync(); !ack.ok()) return ack.status();
  while (can_reserve_job_ && !options_.stopped()) {
    old_->Add("use " + tube);
    old_->Add("peek-ready");
    if (const Result<std::string> used = old_->Line(); !used.ok()) return used.status();
    const Result<BeanstalkClient::Answer> found = old_->Body();
    if (!found.ok()) return found.status();
    if (!found.value().found) return {};
    old_->Add(fmt::format("reserve-job {}", found.value().id));
    Result<BeanstalkClient::Answer> reserved = old_->Body();
    if (!reserved.ok()) return reserved.status();
    can_reserve_job_ = reserved->line != "UNKNOWN_COMMAND";
    if (!reserved->found) return {};
    std::vector<InFlight> jobs(1);
    jobs[0].job.source_id = reserved->id;
    jobs[0].body = std::move(reserved->body);
    moved = true;
    if (Status status = MoveWindow(jobs); !status.ok()) return status;
  }
  return {};
}

Status TakeOver::Round(bool& moved) {
  moved = false;
  if (Status status = FindTubes(); !status.ok()) return status;
  if (Status status = MoveReady(moved); !status.ok()) return status;
  for (const std::string& tube : tubes_) {
    if (Status status = MovePaused(tube, moved); !status.ok()) return status;
    if (Status status = MoveQuiet(tube, "peek-buried", moved); !status.ok()) return status;
    if (Status status = MoveQuiet(tube, "peek-delayed", moved); !status.ok()) return status;
  }
  return {};
}

Status TakeOver::CountLeft(bool in_report, std::uint64_t& waiting) {
  waiting = 0;
  for (const std::string& tube : tubes_) {
    const Result<BeanstalkClient::Yaml> stats = old_->AskYaml("stats-tube " + tube);
    if (!stats.ok()) return stats.status();
    const std::uint64_t reserved = NumberIn(stats.value(), "current-jobs-reserved");
    waiting += reserved;
    if (!in_report) continue;
    AddLeft(tube, reserved, "are reserved by others");
    const std::uint64_t others = NumberIn(stats.value(), "current-jobs-ready") +
                                 NumberIn(stats.value(), "current-jobs-delayed") +
                                 NumberIn(stats.value(), "current-jobs-buried");
    AddLeft(tube, others, "cannot be moved now");
  }
  return {};
}

}  // namespace gearstalk::ctl
