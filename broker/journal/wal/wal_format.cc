#include "broker/journal/wal/wal_format.h"

#include <xxhash.h>

#include <cstring>

#include "broker/base/split.h"
#include "broker/base/stored_number.h"

namespace gearstalk {
namespace {

constexpr std::string_view kMagic = "GSTKWAL\n";
constexpr std::string_view kStateMagic = "GSTKSTA\n";
constexpr std::uint32_t kStateVersion = 1;
constexpr std::uint32_t kEnded = 1;
constexpr std::string_view kSuffix = ".wal";
constexpr std::size_t kChecksumSize = 8;

std::uint64_t Checksum(const char* bytes, std::size_t size, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, size, seed);
}

}  // namespace

void EncodeSegmentHeader(const SegmentHeader& header, char* out) {
  std::memset(out, 0, kSegmentHeaderSize);
  std::memcpy(out, kMagic.data(), kMagic.size());
  Store<std::uint32_t>(out + 8, header.version);
  Store<std::uint64_t>(out + 16, header.number);
  Store<std::uint64_t>(out + 24, header.salt);
  Store<std::uint64_t>(out + 56, Checksum(out, 56, 0));
}

Status DecodeSegmentHeader(std::string_view bytes, SegmentHeader& header) {
  Status damaged(Code::kCorrupt, "the header is damaged");
  if (bytes.size() < kSegmentHeaderSize) return damaged;
  header.salt = Load<std::uint64_t>(bytes, 24);
  if (!bytes.starts_with(kMagic) ||
      Load<std::uint64_t>(bytes, 56) != Checksum(bytes.data(), 56, 0)) {
    return damaged;
  }
  header.version = Load<std::uint32_t>(bytes, 8);
  header.number = Load<std::uint64_t>(bytes, 16);
  if (header.version < 1 || header.version > kWalVersion) {
    return {Code::kInvalid, "format version " + std::to_string(header.version) +
                                "; this gearstalkd reads versions up to " +
                                std::to_string(kWalVersion)};
  }
  return {};
}

void EncodeMark(const Mark& mark, std::uint64_t number, std::uint64_t salt, std::uint64_t offset,
                char* out) {
  Store<std::uint32_t>(out + 8, kMarkTag);
  Store<std::uint32_t>(out + 12, static_cast<std::uint32_t>(number - mark.oldest));
  Store<std::uint64_t>(out + 16, mark.next);
  Store<std::uint64_t>(out + 24, mark.durable);
  Store(out, Checksum(out + kChecksumSize, kMarkSize - kChecksumSize, salt + offset));
}

std::optional<Mark> DecodeMark(std::string_view bytes, std::uint64_t number, std::uint64_t salt,
                               std::uint64_t offset) {
  if (!IsMark(bytes)) return std::nullopt;
  const std::uint64_t checksum =
      Checksum(bytes.data() + kChecksumSize, kMarkSize - kChecksumSize, salt + offset);
  if (checksum != Load<std::uint64_t>(bytes, 0)) return std::nullopt;
  return Mark{Load<std::uint64_t>(bytes, 16), Load<std::uint64_t>(bytes, 24),
              number - Load<std::uint32_t>(bytes, 12)};
}

void SealFrame(char* frame, std::uint32_t record_size, std::uint32_t body_size, std::uint64_t salt,
               std::uint64_t offset) {
  Store(frame + 8, record_size);
  Store(frame + 12, body_size);
  const std::size_t size = kFrameHeaderSize + record_size + body_size;
  Store(frame, Checksum(frame + kChecksumSize, size - kChecksumSize, salt + offset));
}

bool IsMark(std::string_view bytes) {
  return bytes.size() >= kMarkSize && Load<std::uint32_t>(bytes, 8) == kMarkTag;
}

std::size_t ClaimedSize(std::string_view bytes) {
  if (bytes.size() < kFrameHeaderSize) return 0;
  if (IsMark(bytes)) return kMarkSize;
  const auto record_size = Load<std::uint32_t>(bytes, 8);
  if (record_size == 0 || record_size > kMaxRecordSize) return 0;
  const std::size_t size = kFrameHeaderSize + record_size + Load<std::uint32_t>(bytes, 12);
  return size > bytes.size() ? 0 : size;
}

std::optional<Frame> DecodeFrame(std::string_view bytes, std::uint64_t salt, std::uint64_t offset) {
  const std::size_t size = ClaimedSize(bytes);
  if (size == 0 || IsMark(bytes)) return std::nullopt;
  const std::uint64_t checksum =
      Checksum(bytes.data() + kChecksumSize, size - kChecksumSize, salt + offset);
  if (checksum != Load<std::uint64_t>(bytes, 0)) return std::nullopt;
  const auto record_size = Load<std::uint32_t>(bytes, 8);
  return Frame{bytes.substr(kFrameHeaderSize, record_size),
               bytes.substr(kFrameHeaderSize + record_size, size - kFrameHeaderSize - record_size),
               size};
}

void EncodeState(const JournalState& state, char* out) {
  std::memset(out, 0, kStateSize);
  std::memcpy(out, kStateMagic.data(), kStateMagic.size());
  Store<std::uint32_t>(out + 8, kStateVersion);
  Store<std::uint32_t>(out + 12, state.ended ? kEnded : 0);
  Store<std::uint64_t>(out + 16, state.segment);
  Store<std::uint64_t>(out + 24, state.lsn);
  Store<std::uint64_t>(out + 32, state.next_id);
  Store<std::uint64_t>(out + 40, state.starts);
  Store<std::uint64_t>(out + 56, Checksum(out, 56, 0));
}

Status DecodeState(std::string_view bytes, JournalState& state) {
  if (bytes.size() != kStateSize || !bytes.starts_with(kStateMagic) ||
      Load<std::uint64_t>(bytes, 56) != Checksum(bytes.data(), 56, 0)) {
    return {Code::kCorrupt, "it is damaged"};
  }
  if (Load<std::uint32_t>(bytes, 8) != kStateVersion) {
    return {Code::kInvalid, "format version " + std::to_string(Load<std::uint32_t>(bytes, 8)) +
                                "; this gearstalkd reads version " + std::to_string(kStateVersion)};
  }
  state.ended = (Load<std::uint32_t>(bytes, 12) & kEnded) != 0;
  state.segment = Load<std::uint64_t>(bytes, 16);
  state.lsn = Load<std::uint64_t>(bytes, 24);
  state.next_id = Load<std::uint64_t>(bytes, 32);
  state.starts = Load<std::uint64_t>(bytes, 40);
  return {};
}

std::uint64_t SegmentSalt(std::uint64_t journal_salt, std::uint64_t number) {
  return XXH3_64bits_withSeed(&number, sizeof number, journal_salt);
}

std::string SegmentName(std::uint64_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() < 10) digits.insert(0, 10 - digits.size(), '0');
  return digits.append(kSuffix);
}

std::uint64_t SegmentNumber(std::string_view name) {
  if (!name.ends_with(kSuffix)) return 0;
  name.remove_suffix(kSuffix.size());
  std::uint64_t number = 0;
  const bool whole = ParseNumber(name, number);
  return whole && SegmentName(number).size() == name.size() + kSuffix.size() ? number : 0;
}

}  // namespace gearstalk
