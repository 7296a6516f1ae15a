#pragma once

#include <string>
#include <vector>

#include "broker/journal/record_codec.h"
#include "broker/replica/batch.h"
#include "broker/replica/log_store.h"

namespace gearstalk {

inline Record PutOf(std::uint64_t id, std::string_view body) {
  Record record;
  record.kind = Record::Kind::kPut;
  record.id = id;
  record.tube = "t";
  record.body = body;
  return record;
}

inline std::string FrameOf(const Record& record) {
  RecordCodec codec;
  ByteBuffer bytes;
  bytes.Extend(kReplicaFrameHeader);
  const std::size_t size = codec.Encode(record, bytes);
  WriteFrameHeader(bytes.data(), size, record.body.size());
  return std::string(bytes.view()) + std::string(record.body);
}

// Writes parts as a broker would, or not quite.
class PartMaker {
 public:
  std::uint64_t seq = 1, epoch = 1, chain = 0;
  Lsn position = 1;
  std::uint32_t segment = 1;

  // Batches of one part.
  LogPart Batch(const std::vector<std::uint64_t>& ids, std::uint16_t flags = 0) {
    std::string payload;
    for (const std::uint64_t id : ids) payload += FrameOf(PutOf(id, "body"));
    const auto records = static_cast<std::uint32_t>(ids.size());
    LogPart part = Part(payload, records, flags);
    position += records;
    return part;
  }
  LogPart Part(std::string_view payload, std::uint32_t records, std::uint16_t flags) {
    PartHeader header;
    header.flags = flags;
    header.seq = seq;
    header.epoch = epoch;
    header.position = position;
    header.records = records;
    header.segment = segment;
    header.oldest = 1;
    LogPart part{seq++, EncodePart(header, payload, chain)};
    chain = header.chain;
    return part;
  }
};

}  // namespace gearstalk
