#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "broker/base/clock.h"
#include "broker/base/lsn.h"
#include "broker/journal/byte_buffer.h"
#include "broker/journal/record.h"
#include "broker/journal/record_codec.h"
#include "broker/replica/batch.h"

namespace gearstalk {

// Gathers records into batches and cuts the batch that is being sent into parts, one of which is
// under way at a time.
//
// A batch consists of whole rounds of the loop. While a part is in flight, rounds that end are
// added to one batch until it fills a part; then the next batch begins. So a batch is one round
// when the store is fast, and many under load.
class BatchWriter {
 public:
  // Goes on behind a log whose last part has the sequence number `seq` - 1 and the chain `chain`,
  // and whose last record has the position `last`.
  void Begin(std::uint64_t epoch, std::uint64_t seq, std::uint64_t chain, Lsn last);

  // Returns the length of the frame; the record's position is then last().
  std::size_t Append(const Record& record);
  // Ends a round: it consists of what was appended since the last call.
  void EndRound();
  // Whether records were appended since EndRound: sending them now would split a round.
  bool InRound() const { return in_round_; }
  // The records from here on belong to this segment. `barrier`: they are the first of the reign.
  void BeginSegment(std::uint64_t segment, bool barrier);
  // Sends a batch without records if there is no other: for what its header says.
  void WantHeader() { header_wanted_ = true; }

  // Whether a whole batch waits to be sent.
  bool Ready() const {
    return in_batch_ || !closed_.empty() || gathering_.records > 0 || header_wanted_;
  }
  bool in_flight() const { return !part_.empty(); }
  // Whether the batch under way has more parts.
  bool InBatch() const { return in_batch_; }

  // Makes the next part, of the batch under way or of the next one; nothing may be in flight.
  // `last`: nothing will be appended after what was.
  const std::string& NextPart(Time wall, std::uint64_t oldest, bool last);
  const std::string& part() const { return part_; }
  std::uint64_t seq() const { return seq_; }  // of the part in flight, or else of the next
  const PartHeader& header() const { return header_; }
  // Notes that the part in flight is committed.
  void OnCommitted();

  Lsn last() const { return last_; }
  Lsn durable() const { return durable_; }
  std::uint64_t waiting_bytes() const { return waiting_; }

 private:
  struct Batch {
    ByteBuffer bytes;
    Lsn first = 0;
    std::uint32_t records = 0;
    std::uint32_t segment = 0;
    std::uint16_t flags = 0;
  };

  static constexpr std::size_t kPayload = kMaxPart - kPartHeaderSize;

  void Close();

  RecordCodec codec_;
  Batch gathering_;
  std::deque<Batch> closed_;
  Batch sending_;
  std::size_t sent_ = 0;  // bytes of `sending_` in parts that were made
  bool in_batch_ = false;
  bool header_wanted_ = false;
  bool in_round_ = false;
  std::string part_;  // in flight
  PartHeader header_;
  std::uint64_t epoch_ = 0, seq_ = 1, chain_ = 0;
  std::uint32_t segment_ = 0;
  Lsn last_ = 0, durable_ = 0;
  std::uint64_t waiting_ = 0;
};

}  // namespace gearstalk
