#include "admin/ctl/gearman_take_over.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "admin/ctl/same_server.h"
#include "admin/ctl/settle.h"
#include "broker/base/clock.h"

namespace gearstalk::ctl {
namespace {

using transfer::Type;

constexpr int kEndTries = 600;  // tenths of a second

// What a mark says of the run that wrote it.
struct FormerRun {
  std::string pid{}, client_id{}, prefix{};

  explicit FormerRun(const std::string& state) {
    std::istringstream words(state);
    words >> pid >> client_id;
    std::getline(words >> std::ws, prefix);
  }
};

}  // namespace

Status GearmanTakeOver::Begin() {
  Result<std::unique_ptr<GearmanClient>> admin = GearmanClient::Connect(options_.Old());
  if (!admin.ok()) return admin.status();
  admin_ = std::move(admin.value());
  const Result<std::vector<std::string>> pid = admin_->Admin("getpid", false);
  if (!pid.ok()) return pid.status();
  pid_ = pid.value().front();
  std::replace(pid_.begin(), pid_.end(), ' ', '-');
  if (Status status = OpenTransfer([](transfer::Opening&) { return Status(); }); !status.ok())
    return status;
  scope_ = std::make_unique<DrainScope>(
      DrainScope{options_, report_, *broker_, *admin_, table_, pid_, {}, {}, {}});
  scope_->client_id = fmt::format("gearstalkctl-take-over-{}-{}", getpid(), SystemClock().Now());
  admin_->Add(packet::kSetClientId, {scope_->client_id});
  return SettleAll();
}

Status GearmanTakeOver::CheckBroker() { return RefuseSame(*admin_, options_.target); }

// A gearmand tells of itself only its process, and processes of other machines have equal numbers.
bool GearmanTakeOver::IsOf(const transfer::Mark& mark) const {
  const std::string there = AddressOf(mark.fingerprint), here = AddressOf(options_.source);
  return SameEndpoint(there, here) ||
         (FormerRun(mark.state).pid == pid_ && SameLocalPort(there, here));
}

// --- What an interrupted run left
// ------------------------------------------------------------------

// While the connections of the former run exist, its WORK_COMPLETE may still arrive after our
// question.
Status GearmanTakeOver::AwaitEndOf(const std::string& client_id) {
  for (int tries = 0; tries < kEndTries && !options_.stopped(); ++tries) {
    const Result<bool> there = ListsClient(*admin_, client_id);
    if (!there.ok()) return there.status();
    if (!there.value()) return {};
    ::usleep(100'000);
  }
  return {Code::kIo, "a connection of the former run stays in " + options_.source};
}

Status GearmanTakeOver::IsKnown(const std::string& handle, bool& known) {
  admin_->Add(packet::kGetStatus, {handle});
  const Result<Packet> answer = admin_->Next();
  if (!answer.ok()) return answer.status();
  if (answer.value().type != packet::kStatusRes) {
    return {Code::kIo, "the old server does not answer GET_STATUS"};
  }
  known = answer.value().arguments[1] == "1";
  return {};
}

Status GearmanTakeOver::SettleOne(const Record& held, const std::string& prefix, bool same_server) {
  const std::uint64_t id = held.transfer.source_id;
  const std::string handle = prefix + std::to_string(id & HeldHandle::kNumber);
  bool known = false;
  if (same_server) {
    if (Status status = IsKnown(handle, known); !status.ok()) return status;
  }
  const bool shared = (id & HeldHandle::kShared) != 0 || workers_[std::string(held.tube)] > 0;
  const Settlement settlement =
      SettleHandle({.same_server = same_server, .known = known, .shared = shared});
  if (settlement == Settlement::kDrop) {
    broker_->AddIds(Type::kDrop, {held.id});
    return Sync();
  }
  transfer::Mark change;
  const auto add = [&](transfer::OutcomeKind kind, std::string text) {
    change.jobs.push_back({.key = held.unique.empty() ? handle : std::string(held.unique),
                           .tube = std::string(held.tube),
                           .job = held.id,
                           .kind = kind,
                           .text = std::move(text)});
  };
  if (settlement == Settlement::kCommitUncertain) {
    add(transfer::OutcomeKind::kUncertain,
        same_server ? "it was gone from the old server, where another worker may have run it"
                    : "the old server was started again: it may be there, too");
  }
  if ((id & HeldHandle::kGuessed) != 0) {
    add(transfer::OutcomeKind::kAltered, std::string(kGuessedText));
  }
  if (!change.jobs.empty()) broker_->Add(Type::kAdvance, change);
  broker_->AddMoved({held.id});
  if (Status status = Sync(); !status.ok()) return status;
  report_.Moved(held);
  return {};
}

Status GearmanTakeOver::SettleAll() {
  std::vector<transfer::OwnedRecord> held;
  if (Status status = ReadHeldJobs(*broker_, held); !status.ok()) return status;
  if (held.empty()) return {};
  const FormerRun former(before_.state);
  const bool same_server = former.pid == scope_->pid;
  if (same_server) {
    if (Status status = AwaitEndOf(former.client_id); !status.ok()) return status;
  }
  const Result<std::vector<FunctionStatus>> functions = ReadFunctions(*admin_);
  if (!functions.ok()) return functions.status();
  for (const FunctionStatus& each : functions.value()) workers_[each.function] = each.workers;
  for (const auto& each : held) {
    if (Status status = SettleOne(each.View(), former.prefix, same_server); !status.ok())
      return status;
  }
  return {};
}

// --- Moving
// ----------------------------------------------------------------------------------------

Status GearmanTakeOver::Round(bool& moved) {
  moved = false;
  if (Status status = PumpAll(moved); !status.ok()) return status;
  const Result<std::vector<FunctionStatus>> functions = ReadFunctions(*admin_);
  if (!functions.ok()) return functions.status();
  for (const FunctionStatus& each : functions.value()) {
    const std::uint64_t waiting = each.total - std::min(each.total, each.running);
    if (waiting == 0 || !options_.Selected(each.function) || options_.stopped()) continue;
    std::unique_ptr<FunctionDrain>& drain = drains_[each.function];
    if (drain == nullptr) {
      drain = std::make_unique<FunctionDrain>(*scope_, each.function);
      if (Status status = drain->Begin(); !status.ok()) return status;
    }
    if (Status status = drain->Drain(waiting, moved); !status.ok()) return status;
  }
  return {};
}

// A job for us and a result of a relayed one end the wait, so that clients do not wait for it.
Status GearmanTakeOver::Wait(int ms) {
  std::vector<pollfd> ends;
  for (const auto& [function, drain] : drains_) {
    if (Status status = drain->Sleep(); !status.ok()) return status;
    drain->AddEnds(ends);
  }
  ::poll(ends.data(), ends.size(), ms);
  return {};
}

Status GearmanTakeOver::PumpAll(bool& moved) {
  for (const auto& [function, drain] : drains_) {
    if (Status status = drain->Pump(moved); !status.ok()) return status;
  }
  return {};
}

// Jobs without a worker at the broker would wait for ever: gives them back before leaving.
Status GearmanTakeOver::Finish(bool& unfinished) {
  bool moved = false;
  unfinished = false;
  if (Status status = PumpAll(moved); !status.ok()) return status;
  std::set<std::string> functions;
  for (const auto& [function, drain] : drains_) {
    if (drain->in_flight() > 0) functions.insert(function);
  }
  return functions.empty() ? Status() : HasWorkers(functions, unfinished);
}

Status GearmanTakeOver::HasWorkers(const std::set<std::string>& functions, bool& any) {
  if (broker_admin_ == nullptr) {
    Result<std::unique_ptr<GearmanClient>> admin = GearmanClient::Connect(options_.target);
    if (!admin.ok()) return admin.status();
    broker_admin_ = std::move(admin.value());
  }
  const Result<std::vector<FunctionStatus>> here = ReadFunctions(*broker_admin_);
  if (!here.ok()) return here.status();
  any = std::any_of(here.value().begin(), here.value().end(), [&](const FunctionStatus& each) {
    return functions.contains(each.function) && each.workers + each.running > 0;
  });
  return {};
}

Status GearmanTakeOver::CountLeft(bool in_report, std::uint64_t& waiting) {
  waiting = 0;
  const Result<std::vector<FunctionStatus>> functions = ReadFunctions(*admin_);
  if (!functions.ok()) return functions.status();
  for (const FunctionStatus& each : functions.value()) {
    if (!options_.Selected(each.function)) continue;
    const std::uint64_t running = std::min(each.total, each.running);
    const auto drain = drains_.find(each.function);
    const std::uint64_t ours =
        drain == drains_.end() ? 0 : std::min<std::uint64_t>(running, drain->second->in_flight());
    waiting += running;
    if (!in_report) continue;
    AddLeft(each.function, running - ours, "are with other workers");
    AddLeft(each.function, ours, "are waited for by clients and have no worker at the new broker");
    AddLeft(each.function, each.total - running,
            "are not due, or LOW behind one that is not: gearmand gives out neither; stop it and "
            "import its store");
  }
  return {};
}

}  // namespace gearstalk::ctl
