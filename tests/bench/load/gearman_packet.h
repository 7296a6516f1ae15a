#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace gearstalk::bench {

enum class PacketType : uint32_t {
  kCanDo = 1,
  kPreSleep = 4,
  kNoop = 6,
  kSubmitJob = 7,
  kJobCreated = 8,
  kGrabJob = 9,
  kNoJob = 10,
  kJobAssign = 11,
  kWorkComplete = 13,
  kEchoReq = 16,
  kSubmitJobBg = 18,
  kError = 19,
  kSubmitJobHigh = 21,
  kSubmitJobHighBg = 32,
  kSubmitJobLow = 33,
  kSubmitJobLowBg = 34,
  kSubmitJobEpoch = 36,
};

// Appends a request; its arguments are separated by NUL.
void AppendPacket(std::string& out, PacketType type,
                  std::initializer_list<std::string_view> arguments = {});

struct Packet {
  PacketType type;
  std::string_view payload;
  size_t bytes;  // with the header
};

// The response at the front of `input`; none when it is incomplete.
std::optional<Packet> ParsePacket(std::string_view input);

// Cuts the argument that ends in NUL, or all that is left, from the front of `payload`.
std::string_view CutArgument(std::string_view& payload);

[[noreturn]] void FailUnexpected(const Packet& packet, std::string_view receiver);

}  // namespace gearstalk::bench
