#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "broker/base/clock.h"
#include "broker/base/lsn.h"
#include "broker/base/status.h"

namespace gearstalk {

// The newest format of batches and keys that this version reads, and writes where `meta` says so.
inline constexpr std::uint32_t kReplicaFormat = 1;

inline constexpr std::size_t kPartHeaderSize = 64;
// The largest part that is written, header included. The narrowest store takes 1.5 MiB less a few
// kilobytes.
inline constexpr std::size_t kMaxPart = 256 * 1024;

// One part of a batch, as it lies in one key: a header, then a piece of the batch's payload. The
// payload of all parts together is frames back to back: size of the record, size of the body (4
// bytes each), record, body. docs/replication.md has the layout.
struct PartHeader {
  enum Flag : std::uint16_t {
    kMore = 1,     // the batch goes on in the next part
    kBarrier = 2,  // first batch of a reign
    kLast = 4,     // last batch of a reign that ended in order
  };

  std::uint16_t format = kReplicaFormat;
  std::uint16_t flags = 0;
  std::uint64_t seq = 0;
  std::uint64_t epoch = 0;
  Lsn position = 0;  // of the first record of the batch
  std::uint32_t records = 0;
  std::uint32_t segment = 0;
  Time wall = 0;             // of the writer, when it sent the part
  std::uint64_t oldest = 0;  // the log is needed from this sequence number on
  std::uint64_t chain = 0;   // checksum of this part and, through its seed, of all before

  bool more() const { return (flags & kMore) != 0; }
};

// The stored part; fills in `header.chain`. `before` is the chain of the part before.
std::string EncodePart(PartHeader& header, std::string_view payload, std::uint64_t before);

// Checks the format that `meta` names. kCorrupt: this version does not know it.
Status CheckFormat(std::uint32_t format);

// kCorrupt: the bytes are not a part; kInvalid: this version does not know the format.
Status DecodePart(std::string_view bytes, PartHeader& header, std::string_view& payload);

// Whether `bytes`, a decoded part, follow a part with the chain `before`.
bool ChainFits(std::string_view bytes, const PartHeader& header, std::uint64_t before);

inline constexpr std::size_t kReplicaFrameHeader = 8;

// A record in a payload.
struct ReplicaFrame {
  std::string_view record;
  std::string_view body;
  std::size_t size = 0;  // of the frame
};
// False: `payload` does not begin with a whole frame.
bool ReadFrame(std::string_view payload, ReplicaFrame& frame);
// Fills in the 8 bytes before a record.
void WriteFrameHeader(char* out, std::size_t record_size, std::size_t body_size);

}  // namespace gearstalk
