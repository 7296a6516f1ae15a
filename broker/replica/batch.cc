#include "broker/replica/batch.h"

#include <xxhash.h>

#include <cstring>

#include "broker/base/stored_number.h"

namespace gearstalk {
namespace {

constexpr std::string_view kMagic = "GSTB";
constexpr std::size_t kChainAt = 56;

// The checksum of the part without its chain.
std::uint64_t ChainOf(std::string_view part, std::uint64_t before) {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset_withSeed(&state, before);
  XXH3_64bits_update(&state, part.data(), kChainAt);
  XXH3_64bits_update(&state, part.data() + kPartHeaderSize, part.size() - kPartHeaderSize);
  return XXH3_64bits_digest(&state);
}

}  // namespace

std::string EncodePart(PartHeader& header, std::string_view payload, std::uint64_t before) {
  std::string part(kPartHeaderSize + payload.size(), '\0');
  char* out = part.data();
  std::memcpy(out, kMagic.data(), kMagic.size());
  Store(out + 4, header.format);
  Store(out + 6, header.flags);
  Store(out + 8, header.seq);
  Store(out + 16, header.epoch);
  Store(out + 24, header.position);
  Store(out + 32, header.records);
  Store(out + 36, header.segment);
  Store(out + 40, header.wall);
  Store(out + 48, header.oldest);
  payload.copy(out + kPartHeaderSize, payload.size());
  header.chain = ChainOf(part, before);
  Store(out + kChainAt, header.chain);
  return part;
}

Status CheckFormat(std::uint32_t format) {
  if (format <= kReplicaFormat) return {};
  return {Code::kCorrupt, "the replicated journal has format " + std::to_string(format) +
                              "; this gearstalkd knows formats up to " +
                              std::to_string(kReplicaFormat) + ": upgrade it"};
}

Status DecodePart(std::string_view bytes, PartHeader& header, std::string_view& payload) {
  if (bytes.size() < kPartHeaderSize || !bytes.starts_with(kMagic)) {
    return {Code::kCorrupt, "bytes that are not a part of a batch"};
  }
  header.format = Load<std::uint16_t>(bytes, 4);
  if (header.format == 0 || header.format > kReplicaFormat) {
    return {Code::kInvalid, "batch format " + std::to_string(header.format) +
                                "; this gearstalkd reads up to " + std::to_string(kReplicaFormat)};
  }
  header.flags = Load<std::uint16_t>(bytes, 6);
  if (header.flags > 7) {
    return {Code::kInvalid, "a batch with flags " + std::to_string(header.flags) +
                                ", which this version does not know"};
  }
  header.seq = Load<std::uint64_t>(bytes, 8);
  header.epoch = Load<std::uint64_t>(bytes, 16);
  header.position = Load<std::uint64_t>(bytes, 24);
  header.records = Load<std::uint32_t>(bytes, 32);
  header.segment = Load<std::uint32_t>(bytes, 36);
  header.wall = Load<std::int64_t>(bytes, 40);
  header.oldest = Load<std::uint64_t>(bytes, 48);
  header.chain = Load<std::uint64_t>(bytes, kChainAt);
  payload = bytes.substr(kPartHeaderSize);
  return {};
}

bool ChainFits(std::string_view bytes, const PartHeader& header, std::uint64_t before) {
  return ChainOf(bytes, before) == header.chain;
}

bool ReadFrame(std::string_view payload, ReplicaFrame& frame) {
  if (payload.size() < kReplicaFrameHeader) return false;
  const std::size_t record = Load<std::uint32_t>(payload, 0);
  const std::size_t body = Load<std::uint32_t>(payload, 4);
  if (record == 0 || payload.size() - kReplicaFrameHeader < record + body) return false;
  frame.record = payload.substr(kReplicaFrameHeader, record);
  frame.body = payload.substr(kReplicaFrameHeader + record, body);
  frame.size = kReplicaFrameHeader + record + body;
  return true;
}

void WriteFrameHeader(char* out, std::size_t record_size, std::size_t body_size) {
  Store(out, static_cast<std::uint32_t>(record_size));
  Store(out + 4, static_cast<std::uint32_t>(body_size));
}

}  // namespace gearstalk
