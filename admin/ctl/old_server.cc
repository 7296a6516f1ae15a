#include "admin/ctl/old_server.h"

#include <fmt/format.h>
#include <unistd.h>

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

Target TakeOverOptions::Old() const {
  Target old;
  old.address = AddressOf(source);
  return old;
}

Status ReadHeldJobs(TransferClient& broker, std::vector<transfer::OwnedRecord>& held) {
  const Result<transfer::End> end =
      broker.Ask(Type::kListHeld, transfer::End{}, [&](const transfer::Frame& frame) {
        Record job;
        Status read = broker.Read(frame, job);
        if (read.ok()) held.emplace_back(job);
        return read;
      });
  return end.ok() ? Status() : end.status();
}

Status OldServer::Sync() {
  const Result<transfer::Ack> ack = broker_->Sync();
  return ack.ok() ? Status() : ack.status();
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
  const Result<std::string> found = broker_->KnownAs(report_.source, ours);
  if (!found.ok()) return found.status();
  if (found.value() == report_.source) return {};
  const std::string text =
      fmt::format("the same server as {}: goes on with that transfer", found.value());
  fmt::print(stderr, "gearstalkctl: {}: {}\n", report_.source, text);
  report_.AddNote({"hint", report_.source, text});
  report_.source = found.value();
  return {};
}

Status OldServer::OpenTransfer(const std::function<Status(transfer::Opening&)>& prepare) {
  Result<std::unique_ptr<TransferClient>> broker = TransferClient::Connect(options_.target);
  if (!broker.ok()) return broker.status();
  broker_ = std::move(broker.value());
  if (Status status = CheckBroker(); !status.ok()) return status;
  if (options_.name.empty()) {
    if (Status status = FindTransfer(); !status.ok()) return status;
  }
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
  if (jobs == 0) return;
  report_.left += jobs;
  report_.jobs.push_back({"", tube, 0, "left", std::to_string(jobs) + " " + why});
}

Status OldServer::End() {
  broker_->Add(Type::kAdvance,
               transfer::Mark{.finished = report_.left == 0, .reset_finished = true});
  if (Status status = Sync(); !status.ok()) return status;
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
