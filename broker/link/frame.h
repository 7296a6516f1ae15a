#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

// What the broker and a router send each other over a link: docs/link-format.md.
namespace gearstalk::link {

enum class Kind : std::uint8_t {
  kOpen = 1,  // a client came
  kSecured,   // its TLS handshake is done
  kData,      // bytes
  kHangUp,    // the client has hung up; what it sent before follows as there is credit
  kEnd,       // the client has sent everything
  kReset,     // the stream is broken: a Trouble, and the reason
  kCredit,    // bytes were taken, more may be sent
  kClose,     // the last frame of a side about a stream
  kPing,      // asks for, or has, a router's counters
  kListen,    // accept clients, or stop
  kReload,    // settings
};
inline constexpr std::uint8_t kLastKind = static_cast<std::uint8_t>(Kind::kReload);

struct Frame {
  std::uint32_t stream = 0;  // 0: the link itself
  Kind kind = Kind::kData;
  std::string_view payload{};
};

inline constexpr std::size_t kHead = 8;  // bytes before the payload
inline constexpr std::size_t kMaxData = 64 * 1024;
inline constexpr std::size_t kMaxPayload = 8 << 20;  // of other kinds: certificates
// Streams are numbered from 1 to this.
inline constexpr std::uint32_t kMaxStream = 1 << 22;

// A window: how many bytes one side may send of a stream before the other gives credit. It grows
// while much arrives at once, and while a body flows.
inline constexpr std::size_t kWindow = 64 * 1024;
inline constexpr std::size_t kFlowWindow = 256 * 1024;
inline constexpr std::size_t kMaxWindow = 1 << 20;
// What a router delivered is reported when it is so much. Fewer bytes count as delivered.
inline constexpr std::size_t kReportFrom = 4096;
// How far DATA of a router may exceed its credit: the rest of one TLS record.
inline constexpr std::size_t kMaxExcess = 16 * 1024;
// Bytes on a link from which on a stream that has its share under way waits.
inline constexpr std::size_t kBusyLink = 256 * 1024;
// And those from which on every stream waits.
inline constexpr std::size_t kFullLink = 1 << 20;

// The frame at the beginning of `bytes`.
struct Decoded {
  enum class State : std::uint8_t { kFrame, kMore, kMalformed } state = State::kMore;
  std::size_t size = 0;  // of the frame; of kMore: what is needed, as far as it is known
  Frame frame{};
};
Decoded Decode(std::string_view bytes);

// Writes the head of a frame: kHead bytes.
void StoreHead(char* out, std::uint32_t stream, Kind kind, std::size_t payload);

}  // namespace gearstalk::link
