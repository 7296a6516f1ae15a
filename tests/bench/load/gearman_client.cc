#include "tests/bench/load/gearman_client.h"

#include <ctime>

#include "tests/bench/load/decimal.h"

namespace gearstalk::bench {

GearmanClient::GearmanClient(Loop& loop, const Endpoint& endpoint, Flow& flow,
                             const JobShape& shape, const Role& role, bool foreground)
    : Connection(loop, endpoint),
      flow_(flow),
      shape_(shape),
      role_(role),
      foreground_(foreground),
      body_(shape),
      random_(static_cast<unsigned>(role.index + 1)) {
  loop.AddObserver(this);
}

void GearmanClient::OnRound(int64_t now) {
  while (in_flight_ < role_.depth) {
    const auto start = flow_.Start(now);
    if (!start) return;
    Submit(*start, now);
  }
}

PacketType GearmanClient::SubmitType() {
  const auto lane = shape_.random_priorities ? random_() % 3 : 0;
  if (lane == 1) return foreground_ ? PacketType::kSubmitJobHigh : PacketType::kSubmitJobHighBg;
  if (lane == 2) return foreground_ ? PacketType::kSubmitJobLow : PacketType::kSubmitJobLowBg;
  return foreground_ ? PacketType::kSubmitJob : PacketType::kSubmitJobBg;
}

void GearmanClient::Submit(const JobStart& start, int64_t now) {
  const int64_t function = shape_.TubeOf(start.index, role_.index, role_.count);
  if (function != function_index_) {
    function_ = shape_.tubes.Name(function);
    function_index_ = function;
  }
  std::string unique = shape_.key_prefix;
  if (!unique.empty()) AppendDecimal(unique, start.index);
  const std::string_view body =
      body_.Make(start.stamp, {.producer = role_.index, .number = start.index});
  if (const int64_t delay = shape_.Delay(now); delay > 0) {
    AppendPacket(output(), PacketType::kSubmitJobEpoch,
                 {function_, unique, std::to_string(std::time(nullptr) + delay), body});
  } else {
    AppendPacket(output(), SubmitType(), {function_, unique, body});
  }
  uncreated_.push_back({.at = now, .stamp = start.stamp});
  ++in_flight_;
}

size_t GearmanClient::OnInput(std::string_view input) {
  size_t used = 0;
  while (const auto packet = ParsePacket(input.substr(used))) {
    OnPacket(*packet);
    used += packet->bytes;
  }
  return used;
}

void GearmanClient::OnPacket(const Packet& packet) {
  if (packet.type == PacketType::kJobCreated) return OnJobCreated();
  if (packet.type == PacketType::kWorkComplete) return OnWorkComplete(packet.payload);
  FailUnexpected(packet, "a client");
}

void GearmanClient::OnJobCreated() {
  const Sent sent = uncreated_.front();
  uncreated_.pop_front();
  flow_.CommandAnswered(loop().now(), sent.at);
  if (foreground_) return flow_.Stored();
  --in_flight_;
  if (role_.finishes_jobs) {
    flow_.Finish(loop().now(), sent.stamp);
  } else {
    flow_.Stored();
  }
}

void GearmanClient::OnWorkComplete(std::string_view payload) {
  CutArgument(payload);
  --in_flight_;
  flow_.Finish(loop().now(), StampOf(payload));
}

}  // namespace gearstalk::bench
