#include "admin/ctl/old_server.h"

#include <algorithm>
#include <utility>

#include "admin/ctl/gearman_take_over.h"
#include "admin/ctl/take_over.h"

namespace gearstalk::ctl {

using transfer::Type;

bool TakeOverOptions::Selected(const std::string& tube) const {
  const auto in = [&](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), tube) != list.end();
  };
  return (tubes.empty() || in(tubes)) && !in(except);
}

Status ReadHeldJobs(TransferClient& broker, std::vector<std::unique_ptr<HeldJob>>& held) {
  const Result<transfer::End> end =
      broker.Ask(Type::kListHeld, transfer::End{}, [&](const transfer::Frame& frame) {
        auto each = std::make_unique<HeldJob>();
        if (!ReadFields(frame.fields, each->job)) return Status(Code::kIo, "no held job");
        each->tube = each->job.tube;
        each->unique = each->job.unique;
        each->body = frame.body;
        each->job.tube = each->tube;
        each->job.unique = each->unique;
        each->job.body = each->body;
        held.push_back(std::move(each));
        return Status();
      });
  return end.ok() ? Status() : end.status();
}

Status OldServer::Sync() {
  const Result<transfer::Ack> ack = broker_->Sync();
  return ack.ok() ? Status() : ack.status();
}

Status OldServer::OpenTransfer(const std::function<Status(transfer::Opening&)>& prepare) {
  Result<std::unique_ptr<TransferClient>> broker = TransferClient::Connect(options_.target);
  if (!broker.ok()) return broker.status();
  broker_ = std::move(broker.value());
  transfer::Opening opening;
  opening.name = report_.source;
  opening.kind = "take-over";
  opening.fingerprint = options_.source;
  opening.ids = transfer::Ids::kNew;
  opening.any_fingerprint = true;
  opening.create = false;
  Result<transfer::MarkOf> known = broker_->Open(opening);
  if (!known.ok()) return known.status();
  if (!known->persistent && !options_.is_volatile) {
    refused_ = true;
    return {Code::kIo, options_.target.Name() +
                           " has no data directory: what is moved is lost when it ends; --volatile "
                           "accepts that"};
  }
  if (known->known) {
    report_.resumed = report_.resumed || !report_.mark_before.has_value();
  } else {
    if (Status status = prepare(opening); !status.ok()) return status;
    opening.create = true;
    known = broker_->Open(opening);
    if (!known.ok()) return known.status();
  }
  if (!transfer::Mark::Decode(known->mark, before_)) return {Code::kIo, "a mark that is damaged"};
  if (!report_.mark_before.has_value()) report_.mark_before = before_;
  report_.ids = before_.keep_ids ? "keep" : "new";
  report_.uncertain = before_.uncertain;
  return {};
}

void OldServer::AddLeft(const std::string& tube, std::uint64_t jobs, const std::string& why) {
  if (jobs == 0) return;
  report_.left += jobs;
  report_.jobs.push_back({"", tube, 0, "left", std::to_string(jobs) + " " + why});
}

Status OldServer::End() {
  transfer::Opening opening;
  opening.name = report_.source;
  opening.any_fingerprint = true;
  opening.create = false;
  const Result<transfer::MarkOf> end = broker_->Open(opening);
  if (!end.ok()) return end.status();
  transfer::Mark mark;
  if (!transfer::Mark::Decode(end.value().mark, mark)) return {Code::kIo, "a mark that is damaged"};
  // Jobs that joined another job at the commit are not counted as moved.
  const std::uint64_t joined = mark.joined - report_.mark_before->joined;
  const std::uint64_t done = report_.done - std::min(report_.done, joined);
  report_.TakeMark(mark, *report_.mark_before);
  report_.done = done;
  return broker_->Close();
}

std::unique_ptr<OldServer> MakeOldServer(const TakeOverOptions& options, Report& report) {
  if (options.source.starts_with("gearman://")) {
    return std::make_unique<GearmanTakeOver>(options, report);
  }
  return std::make_unique<TakeOver>(options, report);
}

}  // namespace gearstalk::ctl
