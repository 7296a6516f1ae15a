#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "broker/server/output.h"

namespace gearstalk::gearman {

// The numbers of the protocol's packet types; 5 is not used.
enum class PacketType : std::uint32_t {
  kCanDo = 1,
  kCantDo = 2,
  kResetAbilities = 3,
  kPreSleep = 4,
  kNoop = 6,
  kSubmitJob = 7,
  kJobCreated = 8,
  kGrabJob = 9,
  kNoJob = 10,
  kJobAssign = 11,
  kWorkStatus = 12,
  kWorkComplete = 13,
  kWorkFail = 14,
  kGetStatus = 15,
  kEchoReq = 16,
  kEchoRes = 17,
  kSubmitJobBg = 18,
  kError = 19,
  kStatusRes = 20,
  kSubmitJobHigh = 21,
  kSetClientId = 22,
  kCanDoTimeout = 23,
  kAllYours = 24,
  kWorkException = 25,
  kOptionReq = 26,
  kOptionRes = 27,
  kWorkData = 28,
  kWorkWarning = 29,
  kGrabJobUniq = 30,
  kJobAssignUniq = 31,
  kSubmitJobHighBg = 32,
  kSubmitJobLow = 33,
  kSubmitJobLowBg = 34,
  kSubmitJobSched = 35,
  kSubmitJobEpoch = 36,
  kSubmitReduceJob = 37,
  kSubmitReduceJobBackground = 38,
  kGrabJobAll = 39,
  kJobAssignAll = 40,
  kGetStatusUnique = 41,
  kStatusResUnique = 42,
};
inline constexpr std::uint32_t kPacketTypes = 43;  // one more than the highest

inline constexpr std::size_t kHeaderSize = 12;
// All arguments with their NULs, as in gearmand; data behind them does not count.
inline constexpr std::size_t kMaxArgumentBytes = 8192;
inline constexpr std::size_t kMaxArguments = 7;  // of SUBMIT_JOB_SCHED

enum class Parsed : std::uint8_t { kComplete, kNeedMore, kMalformed };

struct Header {
  bool request;  // \0REQ; otherwise \0RES
  PacketType type;
  std::uint32_t size;  // of the payload
};

// Reads a header from the front of `bytes`. kMalformed: a wrong magic, as soon as one byte shows
// it, or an unknown type.
Parsed ParseHeader(std::string_view bytes, Header& header);

// The layout of a payload: `arguments`, each ended by a NUL, then `data`; without `data`, the last
// argument takes the rest and has no NUL.
struct Shape {
  std::uint8_t arguments = 0;
  bool data = false;
  // Arguments missing at the end of the payload are empty.
  bool lenient = false;
};

struct Arguments {
  std::array<std::string_view, kMaxArguments> at;
  std::uint32_t size = 0;  // their bytes and NULs: where data begins
};

// Reads the arguments of a payload of `declared` bytes, of which `shown` have arrived (bytes behind
// them are ignored). Data may still be missing; a last argument without NUL must be complete.
Parsed ParseArguments(std::string_view shown, std::uint32_t declared, const Shape& shape,
                      Arguments& arguments);

// A last argument as a C string: some clients send its NUL, too.
inline std::string_view UpToNul(std::string_view text) { return text.substr(0, text.find('\0')); }

// Writes a response: the parts, separated by NULs.
void AppendPacket(Output& out, PacketType type, std::initializer_list<std::string_view> parts);
// Writes a response without its data: each part ends with a NUL. The caller appends the data.
void AppendPacketBeforeData(Output& out, PacketType type,
                            std::initializer_list<std::string_view> parts, std::size_t data_size);

}  // namespace gearstalk::gearman
