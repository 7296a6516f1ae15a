#include "tests/bench/load/gearman_packet.h"

#include "tests/bench/load/fail.h"

namespace gearstalk::bench {

namespace {

constexpr size_t kHeaderBytes = 12;
constexpr std::string_view kRequestMagic("\0REQ", 4);
constexpr std::string_view kResponseMagic("\0RES", 4);

void AppendBigEndian(std::string& out, uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(number >> shift));
}

uint32_t BigEndian(std::string_view bytes) {
  uint32_t number = 0;
  for (const char byte : bytes.substr(0, 4)) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

}  // namespace

void AppendPacket(std::string& out, PacketType type,
                  std::initializer_list<std::string_view> arguments) {
  size_t bytes = arguments.size() == 0 ? 0 : arguments.size() - 1;
  for (const auto argument : arguments) bytes += argument.size();
  out.append(kRequestMagic);
  AppendBigEndian(out, static_cast<uint32_t>(type));
  AppendBigEndian(out, static_cast<uint32_t>(bytes));
  bool first = true;
  for (const auto argument : arguments) {
    if (!first) out.push_back('\0');
    first = false;
    out.append(argument);
  }
}

std::optional<Packet> ParsePacket(std::string_view input) {
  if (input.size() < kHeaderBytes) return {};
  if (!input.starts_with(kResponseMagic)) Fail("not a Gearman response");
  const size_t payload_bytes = BigEndian(input.substr(8));
  if (input.size() < kHeaderBytes + payload_bytes) return {};
  return Packet{.type = static_cast<PacketType>(BigEndian(input.substr(4))),
                .payload = input.substr(kHeaderBytes, payload_bytes),
                .bytes = kHeaderBytes + payload_bytes};
}

std::string_view CutArgument(std::string_view& payload) {
  const size_t end = payload.find('\0');
  const std::string_view argument = payload.substr(0, end);
  payload.remove_prefix(end == std::string_view::npos ? payload.size() : end + 1);
  return argument;
}

void FailUnexpected(const Packet& packet, std::string_view receiver) {
  Fail(std::string(receiver) + " got packet " + std::to_string(static_cast<uint32_t>(packet.type)) +
       ": " + std::string(packet.payload));
}

}  // namespace gearstalk::bench
