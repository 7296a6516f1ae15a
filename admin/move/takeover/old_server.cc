#include "admin/move/takeover/old_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "broker/base/status.h"

namespace gearstalk::ctl {

using transfer::Type;

Result<std::vector<OwnedRecord>> ReadHeldJobs(TransferClient& broker) {
  std::vector<OwnedRecord> held;
  GS_TRY(broker.Ask(Type::kListHeld, transfer::End{}, [&](const transfer::Frame& frame) {
    Record job;
    GS_TRY(broker.Read(frame, job));
    held.emplace_back(job);
    return Status();
  }));
  return held;
}

Status OldServer::Wait(int ms) {
  ::usleep(static_cast<useconds_t>(ms) * 1000);
  return {};
}

// A transfer without a name of its own may have begun at another address of the old server: goes on
// with it.
Status OldServer::FindTransfer() {
  const std::string scheme = options_.source.substr(0, options_.source.find("://") + 3);
  const auto ours = [&](const std::string& name, const transfer::Mark& mark) {
    const bool nameless = mark.kind == "take-over" && name == mark.fingerprint;
    return nameless && name.starts_with(scheme) && IsOf(mark);
  };
  const std::string found = GS_TRY(broker_->KnownAs(report_.source, ours));
  if (found == report_.source) return {};
  const std::string text = fmt::format("the same server as {}: goes on with that transfer", found);
  Tell(fmt::format("{}: {}", report_.source, text));
  report_.AddNote({"hint", report_.source, text});
  report_.source = found;
  return {};
}

Status OldServer::OpenTransfer() {
  broker_ = GS_TRY(TransferClient::Connect(options_.target));
  GS_TRY(CheckBroker());
  if (options_.name.empty()) GS_TRY(FindTransfer());
  transfer::Opening opening{.name = report_.source,
                            .kind = "take-over",
                            .fingerprint = options_.source,
                            .ids = transfer::Ids::kNew,
                            .create = false,
                            .any_fingerprint = true};
  OpenedTransfer opened = GS_TRY(broker_->Open(opening));
  if (!opened.persistent && !options_.is_volatile) {
    refused_ = true;
    return {Code::kIo, options_.target.Name() +
                           " has no data directory: what is moved is lost when it ends; --volatile "
                           "accepts that"};
  }
  if (opened.known) {
    report_.resumed = report_.resumed || !report_.mark_before.has_value();
  } else {
    GS_TRY(ChooseIds(opening));
    opening.create = true;
    opened = GS_TRY(broker_->Open(opening));
  }
  before_ = std::move(opened.mark);
  if (options_.ids == "keep" && !before_.keep_ids) {
    refused_ = true;
    return {Code::kIo, report_.source +
                           " began with new ids, which --ids keep cannot change; --source begins "
                           "another transfer"};
  }
  if (before_.finished) broker_->Add(Type::kAdvance, transfer::Mark{.reset_finished = true});
  if (!report_.mark_before.has_value()) report_.mark_before = before_;
  report_.ids = before_.keep_ids ? "keep" : "new";
  report_.uncertain = before_.uncertain;
  return {};
}

void OldServer::AddLeft(const std::string& tube, std::uint64_t jobs, const std::string& why) {
  report_.AddLeft(jobs, tube, std::to_string(jobs) + " " + why);
}

Status OldServer::End() {
  if (report_.left == 0) GS_TRY(CleanUp());
  broker_->Add(Type::kAdvance,
               transfer::Mark{.finished = report_.left == 0, .reset_finished = true});
  GS_TRY(broker_->Sync());
  const transfer::Mark mark = GS_TRY(broker_->ReadMark(report_.source));
  // Jobs that joined another job at the commit are not counted as moved.
  const std::uint64_t joined = mark.joined - report_.mark_before->joined;
  const std::uint64_t done = report_.done - std::min(report_.done, joined);
  report_.TakeMark(mark, *report_.mark_before);
  report_.done = done;
  return broker_->Close();
}

std::unique_ptr<OldServer> MakeOldServer(const TakeOverOptions& options, Report& report) {
  return options.source.starts_with("gearman://") ? MakeGearmanTakeOver(options, report)
                                                  : MakeBeanstalkTakeOver(options, report);
}

}  // namespace gearstalk::ctl
