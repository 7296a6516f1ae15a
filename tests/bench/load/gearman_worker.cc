#include "tests/bench/load/gearman_worker.h"

namespace gearstalk::bench {

GearmanWorker::GearmanWorker(Loop& loop, const Endpoint& endpoint, Flow& flow,
                             const GearmanTaking& taking, const Role& role)
    : Connection(loop, endpoint), flow_(flow), taking_(taking), role_(role) {
  for (int64_t function = 0; function < taking_.functions.count; ++function) {
    AppendPacket(output(), PacketType::kCanDo, {taking_.functions.Name(function)});
  }
  if (taking_.sleeps) {
    AppendPacket(output(), PacketType::kPreSleep);
    asleep_ = true;
  } else {
    loop.AddObserver(this);
  }
}

// A result leaves together with the next grab, unless somebody waits for it, there is nothing more
// to grab, or jobs come at a pace.
void GearmanWorker::OnRound(int64_t) {
  while (in_flight_ < role_.depth && flow_.Take()) {
    if (!assigned_.empty()) CompleteOldest();
    Grab();
  }
  if (taking_.foreground || flow_.exhausted() || flow_.paced()) {
    while (!assigned_.empty()) CompleteOldest();
  }
}

void GearmanWorker::Grab() {
  AppendPacket(output(), PacketType::kGrabJob);
  ++in_flight_;
}

void GearmanWorker::Complete(const Job& job) {
  AppendPacket(output(), PacketType::kWorkComplete, {job.handle, job.result});
  if (!taking_.foreground) flow_.Finish(loop().now(), StampOf(job.result));
}

void GearmanWorker::CompleteOldest() {
  Complete(assigned_.front());
  assigned_.pop_front();
}

size_t GearmanWorker::OnInput(std::string_view input) {
  size_t used = 0;
  while (const auto packet = ParsePacket(input.substr(used))) {
    OnPacket(*packet);
    used += packet->bytes;
  }
  return used;
}

void GearmanWorker::OnPacket(const Packet& packet) {
  if (packet.type == PacketType::kNoop) return OnNoop();
  if (packet.type == PacketType::kNoJob) return OnNoJob();
  if (packet.type == PacketType::kJobAssign) return OnJobAssign(packet.payload);
  FailUnexpected(packet, "a worker");
}

void GearmanWorker::OnNoop() {
  if (!asleep_) return;
  asleep_ = false;
  for (int i = 0; i < role_.depth; ++i) Grab();
}

void GearmanWorker::OnNoJob() {
  --in_flight_;
  if (!taking_.sleeps) return flow_.GiveBack();
  if (in_flight_ > 0) return;
  AppendPacket(output(), PacketType::kPreSleep);
  asleep_ = true;
}

void GearmanWorker::OnJobAssign(std::string_view payload) {
  --in_flight_;
  const std::string_view handle = CutArgument(payload);
  CutArgument(payload);
  if (taking_.verification != nullptr) taking_.verification->Check(role_.index, payload);
  Job job{.handle = std::string(handle), .result = std::string(payload.substr(0, kStampBytes))};
  if (!taking_.sleeps) {
    assigned_.push_back(std::move(job));
    return;
  }
  Complete(job);
  Grab();
}

}  // namespace gearstalk::bench
