#include "admin/ctl/relay.h"

#include <utility>
#include <vector>

#include "broker/base/status.h"

namespace gearstalk::ctl {

Status Relay::Connect(const Target& target) {
  name_ = target.Name();
  client_ = GS_TRY(GearmanClient::Connect(target));
  client_->Add(packet::kOptionReq, {"exceptions"});
  // A server that does not know the option answers with an error packet, which is enough.
  return StatusOf(client_->Next());
}

void Relay::Submit(const Assigned& job, std::uint32_t submit) {
  submitted_.push_back(job.handle);
  in_flight_.insert(job.handle);
  if (job.reducer.empty()) {
    client_->Add(submit, {job.function, job.unique, job.body});
  } else {
    client_->Add(packet::kSubmitReduce, {job.function, job.unique, job.reducer, "", job.body});
  }
}

Status Relay::Pump(bool& idle) {
  for (;;) {
    const Result<Packet> next = client_->Next(0);
    if (!next.ok()) {
      if (next.status().code() != Code::kNotFound) return next.status();
      return worker_.Flush();
    }
    idle = false;
    GS_TRY(OnPacket(next.value()));
  }
}

Status Relay::OnPacket(const Packet& packet) {
  switch (packet.type) {
    case packet::kJobCreated:
      if (submitted_.empty()) return {Code::kIo, name_ + " created a job that nobody submitted"};
      handles_[packet.arguments[0]] = std::move(submitted_.front());
      submitted_.pop_front();
      return {};
    case packet::kError:
      return {Code::kIo, name_ + " takes no job: " + packet.arguments[0]};
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
  std::vector<std::string> arguments = packet.arguments;
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
