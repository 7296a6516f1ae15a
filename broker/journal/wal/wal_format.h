#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "broker/base/lsn.h"
#include "broker/base/status.h"

// The bytes of a segment file; docs/journal-format.md explains them. Numbers are little-endian.
//
//   segment = header (64) item* end
//   item    = frame | mark
//   frame   = checksum u64, record size u32 (> 0), body size u32, record, body
//   mark    = checksum u64, kMarkTag u32, distance u32, next LSN u64, durable LSN u64
//   end     = 16 zero bytes, or as many as fit in the file
//
// The state is a file of its own, of 64 bytes.
namespace gearstalk {

inline constexpr std::uint32_t kWalVersion = 2;  // that is written; 1 is read, too

inline constexpr std::uint64_t kDefaultSegmentSize = 16U << 20;
inline constexpr std::uint64_t kLeastSegmentSize = 1024;
inline constexpr std::size_t kSegmentHeaderSize = 64;
inline constexpr std::size_t kFrameHeaderSize = 16;
inline constexpr std::size_t kMarkSize = 32;
inline constexpr std::size_t kEndSize = 16;
inline constexpr std::uint32_t kMarkTag = 0xB14C4D41;       // no record is that large
inline constexpr std::uint32_t kMaxRecordSize = 1U << 24U;  // without the body

struct SegmentHeader {
  std::uint32_t version = kWalVersion;
  std::uint64_t number = 0;
  std::uint64_t salt = 0;  // differs in every use of a file, so that no older content is read
};

// Writes kSegmentHeaderSize bytes.
void EncodeSegmentHeader(const SegmentHeader& header, char* out);
// kCorrupt for bytes that are no header, kInvalid for one of a version that is not known. Of whole
// bytes that are none, `header` has the salt that stands there, and no number: frames that agree
// with it are good.
Status DecodeSegmentHeader(std::string_view bytes, SegmentHeader& header);

// At the start of every batch: where the log was when the batch was written.
struct Mark {
  Lsn next = 0;              // of the first record behind it
  Lsn durable = 0;           // records up to here were on disk
  std::uint64_t oldest = 0;  // segments below this number are no part of the log any more
};

// `offset` is where in the file of segment `number` the bytes lie: checksums cover it.
void EncodeMark(const Mark& mark, std::uint64_t number, std::uint64_t salt, std::uint64_t offset,
                char* out);
std::optional<Mark> DecodeMark(std::string_view bytes, std::uint64_t number, std::uint64_t salt,
                               std::uint64_t offset);

// `frame` is a whole frame whose first kFrameHeaderSize bytes are still to be filled in.
void SealFrame(char* frame, std::uint32_t record_size, std::uint32_t body_size, std::uint64_t salt,
               std::uint64_t offset);
struct Frame {
  std::string_view record, body;
  std::size_t size = 0;
};
std::optional<Frame> DecodeFrame(std::string_view bytes, std::uint64_t salt, std::uint64_t offset);

// The length of a frame or mark by its own header, whatever its checksum; 0: the bytes cannot begin
// one.
std::size_t ClaimedSize(std::string_view bytes);
bool IsMark(std::string_view bytes);

// The content of the state file. It shows when the newest segments are lost.
struct JournalState {
  std::uint64_t segment = 0;  // the newest that was begun; 0: none
  Lsn lsn = 0;                // records up to here were on disk
  std::uint64_t next_id = 1;  // no id from here on was given out
  std::uint64_t starts = 0;   // how many brokers began to write here
  bool ended = false;         // in order: nothing follows record `lsn`, which is in `segment`
};
inline constexpr std::size_t kStateSize = 64;

// Writes kStateSize bytes.
void EncodeState(const JournalState& state, char* out);
// kCorrupt for bytes that are no state, kInvalid for one of a version that is not known.
Status DecodeState(std::string_view bytes, JournalState& state);

// The salt of a segment; `journal_salt` is drawn anew at each start.
std::uint64_t SegmentSalt(std::uint64_t journal_salt, std::uint64_t number);

// 7 -> "0000000007.wal" and back; 0: not the name of a segment.
std::string SegmentName(std::uint64_t number);
std::uint64_t SegmentNumber(std::string_view name);

// The size of a file after the log has moved on to the next: an unused end is cut off if it is
// large enough.
inline std::uint64_t SealedSize(std::uint64_t used, std::uint64_t size) {
  return size - used > size / 16 ? used : size;
}

}  // namespace gearstalk
