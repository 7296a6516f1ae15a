#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "admin/move/settle.h"
#include "admin/move/takeover/function_drain.h"
#include "broker/base/clock.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

using transfer::Type;

constexpr int kEndTries = 600;  // tenths of a second

// What a mark says of the run that wrote it.
struct FormerRun {
  std::string life{}, client_id{}, prefix{};

  explicit FormerRun(const std::string& state) {
    std::istringstream words(state);
    words >> life >> client_id;
    std::getline(words >> std::ws, prefix);
  }
};

// Moves the jobs of a gearmand that runs: function by function, as the only worker of each.
class GearmanTakeOver final : public OldServer {
 public:
  using OldServer::OldServer;

  Status Begin() override {
    admin_ = GS_TRY(GearmanClient::Connect(options_.Old()));
    const std::vector<FunctionStatus> functions = GS_TRY(ReadFunctions(*admin_));
    for (const FunctionStatus& each : functions) known_.insert(each.function);
    GS_TRY(OpenTransfer());
    scope_ = std::make_unique<DrainScope>(
        DrainScope{options_, report_, *broker_, *admin_, table_, {}, {}, {}, {}});
    scope_->client_id = fmt::format("gearstalkctl-take-over-{}-{}", getpid(), SystemClock().Now());
    admin_->Add(packet::kSetClientId, {scope_->client_id});
    const FormerRun former(before_.state);
    const bool same_life = IsSameLife(former);
    scope_->life = same_life ? former.life : scope_->client_id;
    return SettleAll(former, same_life);
  }

  Status Round(bool& moved) override {
    moved = false;
    GS_TRY(PumpAll(moved));
    const std::vector<FunctionStatus> functions = GS_TRY(ReadFunctions(*admin_));
    for (const FunctionStatus& each : functions) {
      const std::uint64_t waiting = each.total - std::min(each.total, each.running);
      if (waiting == 0 || !options_.selection.Has(each.function) || options_.stopped()) continue;
      std::unique_ptr<FunctionDrain>& drain = drains_[each.function];
      if (drain == nullptr) {
        drain = std::make_unique<FunctionDrain>(*scope_, each.function);
        GS_TRY(drain->Begin());
      }
      GS_TRY(drain->Drain(waiting, moved));
    }
    return {};
  }

  // A job for us and a result of a relayed one end the wait, so that clients do not wait for it.
  Status Wait(int ms) override {
    std::vector<pollfd> ends;
    for (const auto& [function, drain] : drains_) {
      GS_TRY(drain->Sleep());
      drain->AddEnds(ends);
    }
    ::poll(ends.data(), ends.size(), ms);
    return {};
  }

  // Jobs without a worker at the broker would wait for ever: gives them back before leaving.
  Result<bool> Finish() override {
    bool moved = false;
    GS_TRY(PumpAll(moved));
    std::set<std::string> functions;
    for (const auto& [function, drain] : drains_) {
      GS_TRY(drain->Fence());
      if (drain->in_flight() > 0) functions.insert(function);
    }
    if (functions.empty()) return true;
    const bool goes_on = GS_TRY(HasWorkers(functions));
    return !goes_on;
  }

  Result<std::uint64_t> CountLeft(bool in_report) override {
    std::uint64_t waiting = 0;
    const std::vector<FunctionStatus> functions = GS_TRY(ReadFunctions(*admin_));
    for (const FunctionStatus& each : functions) {
      if (!options_.selection.Has(each.function)) continue;
      const std::uint64_t running = std::min(each.total, each.running);
      const auto drain = drains_.find(each.function);
      const std::uint64_t ours =
          drain == drains_.end() ? 0 : std::min<std::uint64_t>(running, drain->second->in_flight());
      waiting += running;
      if (!in_report) continue;
      AddLeft(each.function, running - ours, "are with other workers");
      AddLeft(each.function, ours,
              "are waited for by clients and have no worker at the new broker");
      AddLeft(each.function, each.total - running,
              "are not due, or LOW behind one that is not: gearmand gives out neither; stop it and "
              "import its store");
    }
    return waiting;
  }

 private:
  Status CheckBroker() override { return admin_->RefuseSame(options_.target); }

  bool IsOf(const transfer::Mark& mark) const override {
    return SameEndpoint(AddressOf(mark.fingerprint), AddressOf(options_.source)) ||
           IsSameLife(FormerRun(mark.state));
  }

  // Whether the old server has not ended since.
  bool IsSameLife(const FormerRun& former) const {
    return !former.life.empty() && known_.contains(former.life);
  }

  Status CleanUp() override {
    return StatusOf(admin_->Admin("drop function " + scope_->life, false));
  }

  Status SettleAll(const FormerRun& former, bool same_life) {
    const std::vector<OwnedRecord> held = GS_TRY(ReadHeldJobs(*broker_));
    if (held.empty()) return {};
    if (same_life) GS_TRY(AwaitEndOf(former.client_id));
    const std::vector<FunctionStatus> functions = GS_TRY(ReadFunctions(*admin_));
    for (const FunctionStatus& each : functions) workers_[each.function] = each.workers;
    for (const auto& each : held) GS_TRY(SettleOne(each.View(), former.prefix, same_life));
    return {};
  }

  // While the connections of the former run exist, its WORK_COMPLETE may still arrive after our
  // question.
  Status AwaitEndOf(const std::string& client_id) {
    for (int tries = 0; tries < kEndTries && !options_.stopped(); ++tries) {
      const bool there = GS_TRY(admin_->Lists(client_id));
      if (!there) return {};
      ::usleep(100'000);
    }
    return {Code::kIo, "a connection of the former run stays in " + options_.source};
  }

  Status SettleOne(const Record& held, const std::string& prefix, bool same_life) {
    const std::uint64_t id = held.transfer.source_id;
    const std::string handle = prefix + std::to_string(id & HeldHandle::kNumber);
    bool known = false;
    if (same_life) known = GS_TRY(IsKnown(handle));
    const bool shared = (id & HeldHandle::kShared) != 0 || workers_[std::string(held.tube)] > 0;
    const Settlement settlement =
        SettleHandle({.same_life = same_life, .known = known, .shared = shared});
    if (settlement == Settlement::kDrop) {
      broker_->AddIds(Type::kDrop, {held.id});
      return StatusOf(broker_->Sync());
    }
    transfer::Mark change;
    const auto add = [&](transfer::OutcomeKind kind, std::string_view text) {
      AddOutcome(change, held.unique.empty() ? handle : std::string(held.unique), held.tube,
                 held.id, kind, text);
    };
    if (settlement == Settlement::kCommitUncertain) {
      add(transfer::OutcomeKind::kUncertain,
          same_life ? "it was gone from the old server, where another worker may have run it"
                    : "the old server was started again: it may be there, too");
    }
    if ((id & HeldHandle::kGuessed) != 0) {
      add(transfer::OutcomeKind::kAltered, kGuessedText);
    }
    broker_->AddMoved({held.id}, change);
    GS_TRY(broker_->Sync());
    report_.Moved(held);
    return {};
  }

  Result<bool> IsKnown(const std::string& handle) {
    admin_->Add(packet::kGetStatus, {handle});
    const Packet answer = GS_TRY(admin_->Next());
    if (answer.type == packet::kStatusRes) return answer.arguments[1] == "1";
    return Status(Code::kIo, "the old server does not answer GET_STATUS");
  }

  Status PumpAll(bool& moved) {
    for (const auto& [function, drain] : drains_) GS_TRY(drain->Pump(moved));
    return {};
  }

  Result<bool> HasWorkers(const std::set<std::string>& functions) {
    if (broker_admin_ == nullptr) {
      broker_admin_ = GS_TRY(GearmanClient::Connect(options_.target));
    }
    const std::vector<FunctionStatus> here = GS_TRY(ReadFunctions(*broker_admin_));
    return std::any_of(here.begin(), here.end(), [&](const FunctionStatus& each) {
      return functions.contains(each.function) && each.workers + each.running > 0;
    });
  }

  std::unique_ptr<GearmanClient> admin_{}, broker_admin_{};
  std::set<std::string> known_{};  // functions, at the beginning
  std::unique_ptr<DrainScope> scope_{};
  JobTable table_{};
  std::map<std::string, std::uint64_t> workers_{};  // of functions, before ours
  std::map<std::string, std::unique_ptr<FunctionDrain>> drains_{};
};

}  // namespace

std::unique_ptr<OldServer> MakeGearmanTakeOver(const TakeOverOptions& options, Report& report) {
  return std::make_unique<GearmanTakeOver>(options, report);
}

}  // namespace gearstalk::ctl
