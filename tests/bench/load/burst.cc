#include "tests/bench/load/burst.h"

#include "tests/bench/load/clock.h"
#include "tests/bench/load/fail.h"
#include "tests/bench/load/gearman_packet.h"

namespace gearstalk::bench {

Burst::Burst(Loop& loop, const Endpoint& endpoint, Protocol protocol, int64_t commands)
    : Connection(loop, endpoint), protocol_(protocol), commands_(commands) {
  loop.AddObserver(this);
  if (protocol == Protocol::kBeanstalk) output().append("use burst\r\n");
}

void Burst::OnRound(int64_t now) {
  if (unanswered_ > 0 || now < next_) return;
  next_ = now + kSecond;
  unanswered_ = commands_;
  std::string& out = output();
  for (int64_t i = 0; i < commands_; ++i) {
    if (protocol_ == Protocol::kBeanstalk) {
      out.append("put 1024 0 3600 4\r\nbody\r\n");
    } else {
      AppendPacket(out, PacketType::kSubmitJobBg, {"burst", "", "body"});
    }
  }
}

size_t Burst::OnInput(std::string_view input) {
  return protocol_ == Protocol::kBeanstalk ? OnLines(input) : OnPackets(input);
}

size_t Burst::OnLines(std::string_view input) {
  size_t used = 0;
  for (;;) {
    const size_t end = input.find("\r\n", used);
    if (end == std::string_view::npos) return used;
    const std::string_view line = input.substr(used, end - used);
    used = end + 2;
    if (line.starts_with("USING ")) continue;
    if (!line.starts_with("INSERTED ")) Fail("a burst was answered: " + std::string(line));
    OnAnswer();
  }
}

size_t Burst::OnPackets(std::string_view input) {
  size_t used = 0;
  while (const auto packet = ParsePacket(input.substr(used))) {
    if (packet->type != PacketType::kJobCreated) FailUnexpected(*packet, "a burst");
    used += packet->bytes;
    OnAnswer();
  }
  return used;
}

void Burst::OnAnswer() {
  if (--unanswered_ == 0) ++finished_;
}

}  // namespace gearstalk::bench
