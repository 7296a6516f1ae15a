#include "tests/bench/load/churn.h"

#include "tests/bench/load/decimal.h"
#include "tests/bench/load/fail.h"
#include "tests/bench/load/gearman_packet.h"

namespace gearstalk::bench {

Churn::Churn(Loop& loop, const Endpoint& endpoint, Flow& flow, const JobShape& shape,
             Protocol protocol)
    : Connection(loop, endpoint), flow_(flow), shape_(shape), protocol_(protocol), body_(shape) {
  loop.AddObserver(this);
}

void Churn::OnRound(int64_t now) {
  if (in_flight_) return;
  const auto start = flow_.Start(now);
  if (!start) return;
  in_flight_ = true;
  stamp_ = start->stamp;
  Send();
}

void Churn::Send() {
  std::string& out = output();
  const std::string_view body = body_.Make(stamp_, {});
  if (protocol_ == Protocol::kGearman) {
    AppendPacket(out, PacketType::kSubmitJobBg, {shape_.tubes.Name(0), "", body});
    return;
  }
  out.append("put 1024 0 3600 ");
  AppendDecimal(out, static_cast<int64_t>(body.size()));
  out.append("\r\n").append(body).append("\r\n");
}

bool Churn::AnswerIsComplete(std::string_view input) const {
  if (protocol_ == Protocol::kBeanstalk) {
    if (!input.ends_with("\r\n")) return false;
    if (!input.starts_with("INSERTED ")) Fail("put was answered: " + std::string(input));
    return true;
  }
  const auto packet = ParsePacket(input);
  if (packet && packet->type != PacketType::kJobCreated) FailUnexpected(*packet, "a client");
  return packet.has_value();
}

size_t Churn::OnInput(std::string_view input) {
  if (!AnswerIsComplete(input)) return 0;
  const size_t used = input.size();
  in_flight_ = false;
  Reconnect();
  flow_.Finish(loop().now(), stamp_);
  return used;
}

}  // namespace gearstalk::bench
