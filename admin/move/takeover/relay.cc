#include "admin/move/takeover/relay.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "admin/ctl/command.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

constexpr Time kAgain = kSecond / 2;  // after a refusal

}  // namespace

Status Relay::Connect(const Target& target) {
  name_ = target.Name();
  client_ = GS_TRY(GearmanClient::Connect(target));
  client_->Add(packet::kOptionReq, {"exceptions"});
  // A server that does not know the option answers with an error packet, which is enough.
  return StatusOf(client_->Next());
}

void Relay::Submit(Assigned job, std::uint32_t submit, bool not_fail) {
  in_flight_.insert(job.handle);
  Job added{std::move(job), submit, not_fail};
  if (!refused_.empty()) return refused_.push_back(std::move(added));
  Send(std::move(added));
}

void Relay::Send(Job job) {
  const Assigned& sent = job.assigned;
  if (sent.reducer.empty()) {
    client_->Add(job.submit, {sent.function, sent.unique, sent.body});
  } else {
    client_->Add(packet::kSubmitReduce, {sent.function, sent.unique, sent.reducer, "", sent.body});
  }
  submitted_.push_back(std::move(job));
}

// The next one waits for the answer.
void Relay::SendRefused() {
  if (refused_.empty() || !submitted_.empty() || BootTime() < again_) return;
  Send(std::move(refused_.front()));
  refused_.pop_front();
  submitted_.back().tried = true;
}

Status Relay::Pump(bool& idle) {
  SendRefused();
  if (client_->sends()) idle = false;
  for (;;) {
    const Result<Packet> next = client_->Next(0);
    if (!next.ok()) {
      if (next.status().code() != Code::kNotFound) return next.status();
      if (worker_.sends()) idle = false;
      return worker_.Flush();
    }
    idle = false;
    GS_TRY(OnPacket(next.value()));
  }
}

Status Relay::OnRefused(const Packet& error) {
  if (submitted_.empty()) return {Code::kIo, name_ + " answers " + error.arguments[0]};
  Job job = std::move(submitted_.front());
  submitted_.pop_front();
  const std::string& code = error.arguments[0];
  const std::string what = fmt::format("{} refuses a job of {}: {} {}", name_,
                                       job.assigned.function, code, error.arguments[1]);
  // Of a full queue, a drain, a full disk.
  if (code == "QUEUE_ERROR") {
    if (!std::exchange(told_, true)) Tell(what + "; it is tried again");
    again_ = BootTime() + kAgain;
    const auto place = job.tried ? refused_.begin() : refused_.end();
    refused_.insert(place, std::move(job));
    return {};
  }
  if (job.not_fail) return {Code::kIo, what};
  Tell(what + "; it fails");
  worker_.Add(packet::kWorkFail, {job.assigned.handle});
  in_flight_.erase(job.assigned.handle);
  ++ended_;
  return {};
}

Status Relay::OnPacket(const Packet& packet) {
  switch (packet.type) {
    case packet::kJobCreated:
      if (submitted_.empty()) return {Code::kIo, name_ + " created a job that nobody submitted"};
      handles_[packet.arguments[0]] = std::move(submitted_.front().assigned.handle);
      submitted_.pop_front();
      told_ = told_ && !refused_.empty();
      again_ = 0;
      return {};
    case packet::kError:
      return OnRefused(packet);
    case packet::kWorkStatus:
    case packet::kWorkData:
    case packet::kWorkWarning:
    case packet::kWorkException:
    case packet::kWorkComplete:
    case packet::kWorkFail:
      Pass(packet);
      return {};
    default:
      return {};
  }
}

// The same packet under the handle that the job has at the other side. An exception ends a job.
void Relay::Pass(const Packet& packet) {
  std::string handle = packet.arguments[0];
  // gearmand adds a NUL to it when an exception becomes a WORK_FAIL.
  while (!handle.empty() && handle.back() == '\0') handle.pop_back();
  const auto known = handles_.find(handle);
  if (known == handles_.end()) return;
  std::vector<std::string_view> arguments(packet.arguments.begin(), packet.arguments.end());
  arguments[0] = known->second;
  worker_.Add(packet.type, arguments);
  const bool ends = packet.type == packet::kWorkComplete || packet.type == packet::kWorkFail ||
                    packet.type == packet::kWorkException;
  if (!ends) return;
  ++ended_;
  in_flight_.erase(known->second);
  handles_.erase(known);
}

}  // namespace gearstalk::ctl
