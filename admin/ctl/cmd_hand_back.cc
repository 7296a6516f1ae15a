// hand-back: moves our jobs to a beanstalkd or gearmand. A job is held back here (phase 1), about
// to be sent (phase 2), put there, then dropped here. What an interrupted run left in phase 1 comes
// back; in phase 2 it comes back, too, and is uncertain: it may be there. Buried jobs go last, in
// the order in which they were buried.

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "admin/ctl/command.h"
#include "admin/ctl/move_commands.h"
#include "admin/move/destination.h"
#include "admin/move/report.h"
#include "admin/move/transfer_client.h"
#include "broker/base/clock.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

using transfer::Type;

constexpr std::uint64_t kWindow = 256;
constexpr const char* kKind = "hand-back";  // of its transfers

struct Options {
  std::string to;
  Target target;
  transfer::Selection selection;
  Report report{"hand-back", "moved"};

  Parameters AsParameters() {
    Parameters parameters = {
        {"to", &to, "beanstalk://HOST:PORT or gearman://HOST:PORT", kRequired}};
    target.AddTo(parameters, "--from", false);
    parameters.insert(parameters.end(),
                      {{"--tube", &selection.tubes, "Only this tube; may be repeated"},
                       {"--except", &selection.except, "Not this tube; may be repeated"}});
    report.AddTo(parameters);
    return parameters;
  }
};

class HandBack {
 public:
  HandBack(const Options& options, Report& report) : options_(options), report_(report) {}

  Status Run() {
    GS_TRY(Begin());
    GS_TRY(PauseTubes());
    transfer::Selection selection = options_.selection;
    selection.most = kWindow;
    selection.list_buried = true;
    transfer::End end;
    do {
      end = GS_TRY(MoveWindow(selection));
      selection.after = end.next_id;
    } while (end.jobs > 0);
    GS_TRY(MoveBuried());
    return End();
  }

 private:
  using Window = std::vector<std::unique_ptr<Moving>>;

  // A buried job whose turn comes later.
  struct Listed {
    std::uint64_t burial, id;
  };

  Status Begin() {
    broker_ = GS_TRY(TransferClient::Connect(options_.target));
    // What an interrupted run left may be under another address of the same server.
    const std::string scheme = options_.to.substr(0, options_.to.find("://") + 3);
    const auto ours = [&](const std::string& /*name*/, const transfer::Mark& mark) {
      return mark.kind == kKind && mark.fingerprint.starts_with(scheme) &&
             SameEndpoint(AddressOf(mark.fingerprint), AddressOf(options_.to));
    };
    name_ = GS_TRY(broker_->KnownAs("hand-back " + options_.to, ours));
    const OpenedTransfer opened = GS_TRY(broker_->Open({.name = name_,
                                                        .kind = kKind,
                                                        .fingerprint = options_.to,
                                                        .ids = transfer::Ids::kNew,
                                                        .any_fingerprint = true}));
    before_ = opened.mark;
    report_.resumed = opened.known;
    there_ = GS_TRY(ConnectDestination(options_.to, broker_->classes()));
    GS_TRY(there_->Greet(options_.target));
    GS_TRY(SetFinished(false));
    return Settle();
  }

  // `transfers` shows it. A full disk, which hand-back may make empty, has no room for it.
  Status SetFinished(bool finished) {
    broker_->Add(Type::kAdvance, transfer::Mark{.finished = finished, .reset_finished = true});
    Status status = StatusOf(broker_->Sync());
    return status.code() == Code::kDraining ? Status() : status;
  }

  // Before jobs come into a tube there, it is paused as it is here.
  Status PauseTubes() {
    transfer::Selection selection = options_.selection;
    selection.settings_only = true;
    std::vector<OwnedRecord> tubes;
    GS_TRY(broker_->Ask(Type::kExport, selection, [&](const transfer::Frame& frame) {
      Record tube;
      GS_TRY(broker_->Read(frame, tube));
      tubes.emplace_back(tube);
      return Status();
    }));
    for (const OwnedRecord& tube : tubes) {
      const Time left = tube.View().settings.pause_until - SystemClock().Now();
      if (left <= 0) continue;
      const auto seconds = static_cast<std::uint64_t>((left + kSecond - 1) / kSecond);
      GS_TRY(there_->Pause(std::string(tube.View().tube), seconds));
    }
    return {};
  }

  Result<transfer::End> Collect(Type type, const transfer::Selection& selection, Window& jobs) {
    return broker_->Ask(type, selection, [&](const transfer::Frame& frame) {
      Record job;
      GS_TRY(broker_->Read(frame, job));
      if (job.transfer.held == Record::Held::kNot) return List(job);
      jobs.push_back(std::make_unique<Moving>(Moving{.job = OwnedRecord(job)}));
      return Status();
    });
  }

  Status List(const Record& buried) {
    const std::string why = there_->WhyNot(buried);
    if (why.empty()) {
      buried_.push_back({buried.burial, buried.id});
    } else {
      report_.AddLeft(1, buried.tube, why, buried.id);
    }
    return {};
  }

  Result<transfer::End> MoveWindow(const transfer::Selection& selection) {
    Window jobs;
    Result<transfer::End> held = Collect(Type::kHoldBack, selection, jobs);
    // Jobs that are held back go to their queues again.
    if (!held.ok()) GS_TRY(Settle());
    if (!held.ok()) return held;
    busy_ += held->busy;
    GS_TRY(Move(jobs));
    report_.Progress(report_.done, report_.found_bytes);
    GS_TRY(there_->Closed());
    return held;
  }

  Status MoveBuried() {
    std::ranges::sort(buried_, {}, &Listed::burial);
    for (std::size_t from = 0; from < buried_.size(); from += kWindow) {
      transfer::Selection selection = options_.selection;
      const std::size_t to = std::min<std::size_t>(from + kWindow, buried_.size());
      for (std::size_t i = from; i < to; ++i) selection.ids.push_back(buried_[i].id);
      GS_TRY(MoveWindow(selection));
    }
    return {};
  }

  void AddOutcome(const Record& job, transfer::OutcomeKind kind, const std::string& text) {
    transfer::Mark change;
    ctl::AddOutcome(change, std::to_string(job.id), job.tube, job.id, kind, text);
    broker_->Add(Type::kAdvance, change);
  }

  // Without --tube, nobody has said that jobs of the other protocol go, too.
  void NoteForeign(const Record& job) {
    const std::string_view what = there_->Foreign(job);
    std::string tube(job.tube);
    if (what.empty() || !options_.selection.tubes.empty() || !foreign_.insert(tube).second) return;
    report_.AddNote({"hint", std::move(tube), std::string(what) + "; --except keeps them here"});
  }

  Status Settle() {
    Window jobs;
    GS_TRY(Collect(Type::kListHeld, {}, jobs));
    for (const auto& each : jobs) {
      const Record& job = each->job.View();
      if (job.transfer.held == Record::Held::kSecondPhase) {
        AddOutcome(job, transfer::OutcomeKind::kUncertain, "it may have been put there, too");
      }
      broker_->AddIds(Type::kCommit, {job.id});
    }
    return StatusOf(broker_->Sync());
  }

  Status Send(const Window& jobs) {
    std::vector<Moving*> can_go;
    std::vector<std::uint64_t> ids;
    for (const auto& each : jobs) {
      each->left = there_->WhyNot(each->job.View());
      if (!each->left.empty()) continue;
      can_go.push_back(each.get());
      ids.push_back(each->job.View().id);
    }
    if (can_go.empty()) return {};
    broker_->AddIds(Type::kConfirm, std::move(ids));
    GS_TRY(broker_->Sync());
    return there_->Put(can_go);
  }

  Status Move(const Window& jobs) {
    if (jobs.empty()) return {};
    GS_TRY(Send(jobs));
    std::vector<std::uint64_t> gone, back;
    for (const auto& each : jobs) {
      const Record& job = each->job.View();
      (each->left.empty() ? gone : back).push_back(job.id);
      if (each->left.empty()) {
        report_.Moved(job);
        NoteForeign(job);
      } else {
        report_.AddLeft(1, job.tube, each->left, job.id);
      }
    }
    return Drop(jobs, std::move(gone), std::move(back));
  }

  // Jobs in `gone` are there now; those in `back` stay here.
  Status Drop(const Window& jobs, std::vector<std::uint64_t> gone,
              std::vector<std::uint64_t> back) {
    const std::uint64_t moved = gone.size();
    std::uint64_t needed = moved + back.size();
    if (!gone.empty()) broker_->AddIds(Type::kDrop, std::move(gone));
    if (!back.empty()) broker_->AddIds(Type::kCommit, std::move(back));
    for (const auto& each : jobs) {
      if (each->altered.empty()) continue;
      AddOutcome(each->job.View(), transfer::OutcomeKind::kAltered, each->altered);
      ++needed;
    }
    broker_->Add(Type::kAdvance, transfer::Mark{.moved = moved});
    GS_TRY(broker_->SendSync());
    const transfer::Ack ack = GS_TRY(broker_->ReadAck());
    // The count is for `transfers`, too.
    return ack.requests < needed ? AsStatus(ack) : Status();
  }

  Status End() {
    report_.AddLeft(busy_, "",
                    fmt::format("{} are reserved, stand behind a reserved one of their line, or a "
                                "client waits for them",
                                busy_));
    GS_TRY(SetFinished(report_.left == 0));
    const transfer::Mark mark = GS_TRY(broker_->ReadMark(name_));
    const std::uint64_t done = report_.done;
    report_.TakeMark(mark, before_);
    report_.done = done;
    return broker_->Close();
  }

  const Options& options_;
  Report& report_;
  std::string name_;       // of the transfer
  transfer::Mark before_;  // when this run began
  std::vector<Listed> buried_;
  std::set<std::string> foreign_;  // tubes that are noted
  std::uint64_t busy_ = 0;         // jobs that stay because somebody has them or one before them
  std::unique_ptr<Destination> there_;
  std::unique_ptr<TransferClient> broker_;
};

int RunHandBack(Options& options) {
  Report& report = options.report;
  report.source = options.target.Name();
  report.to = options.to;
  report.Begin();
  if (!options.to.starts_with("beanstalk://") && !options.to.starts_with("gearman://")) {
    return report.End(kBadUsage,
                      "hand-back: expected beanstalk://HOST:PORT or gearman://HOST:PORT");
  }
  if (Status same = CheckOther(options.to, options.target.address); !same.ok()) {
    return report.End(kBadUsage, same.message());
  }
  HandBack hand_back(options, report);
  const Status status = hand_back.Run();
  return report.End(status.code() == Code::kInUse ? kFailed : ExitOf(status), status.message());
}

}  // namespace

Command HandBackCommand() {
  return {"hand-back", "Move jobs to a beanstalkd or gearmand",
          "gearstalkctl hand-back beanstalk://127.0.0.1:11301", BindMove(RunHandBack)};
}

}  // namespace gearstalk::ctl
