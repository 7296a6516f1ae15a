#include "broker/replica/batch_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "broker/base/check.h"

namespace gearstalk {

void BatchWriter::Begin(std::uint64_t epoch, std::uint64_t seq, std::uint64_t chain, Lsn last) {
  epoch_ = epoch;
  seq_ = seq;
  chain_ = chain;
  last_ = durable_ = last;
}

std::size_t BatchWriter::Append(const Record& record) {
  ByteBuffer& bytes = gathering_.bytes;
  if (gathering_.records == 0) {
    gathering_.first = last_ + 1;
    gathering_.segment = segment_;
  }
  const std::size_t at = bytes.size();
  bytes.Extend(kReplicaFrameHeader);
  const std::size_t record_size = codec_.Encode(record, bytes);
  const std::size_t body_size = record.body.size();
  if (body_size > 0) std::memcpy(bytes.Extend(body_size), record.body.data(), body_size);
  WriteFrameHeader(bytes.data() + at, record_size, body_size);
  ++gathering_.records;
  ++last_;
  in_round_ = true;
  const std::size_t size = bytes.size() - at;
  waiting_ += size;
  return size;
}

void BatchWriter::EndRound() {
  in_round_ = false;
  if (gathering_.bytes.size() >= kPayload) Close();
}

void BatchWriter::Close() {
  if (gathering_.records > 0) closed_.push_back(std::exchange(gathering_, {}));
}

void BatchWriter::BeginSegment(std::uint64_t segment, bool barrier) {
  Close();
  segment_ = static_cast<std::uint32_t>(segment);
  gathering_.flags = barrier ? PartHeader::kBarrier : 0;
}

const std::string& BatchWriter::NextPart(Time wall, std::uint64_t oldest, bool last) {
  GS_CHECK(part_.empty());
  if (!in_batch_) {
    if (closed_.empty() && gathering_.records == 0) {
      gathering_.first = last_ + 1;
      gathering_.segment = segment_;
    }
    if (closed_.empty()) {
      sending_ = std::exchange(gathering_, {});
    } else {
      sending_ = std::move(closed_.front());
      closed_.pop_front();
    }
    const bool nothing_left = closed_.empty() && gathering_.records == 0;
    if (last && nothing_left) sending_.flags |= PartHeader::kLast;
    sent_ = 0;
    header_wanted_ = false;
  }
  const std::size_t size = std::min(kPayload, sending_.bytes.size() - sent_);
  in_batch_ = sent_ + size < sending_.bytes.size();
  header_ = {};
  header_.flags = static_cast<std::uint16_t>(sending_.flags | (in_batch_ ? PartHeader::kMore : 0));
  header_.seq = seq_;
  header_.epoch = epoch_;
  header_.position = sending_.first;
  header_.records = sending_.records;
  header_.segment = sending_.segment;
  header_.wall = wall;
  header_.oldest = oldest;
  part_ = EncodePart(header_, sending_.bytes.view().substr(sent_, size), chain_);
  sent_ += size;
  return part_;
}

void BatchWriter::OnCommitted() {
  chain_ = header_.chain;
  ++seq_;
  waiting_ -= part_.size() - kPartHeaderSize;
  part_.clear();
  if (in_batch_) return;
  durable_ = sending_.first + sending_.records - 1;
  sending_ = {};
}

}  // namespace gearstalk
