#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/lsn.h"
#include "broker/base/status.h"
#include "broker/journal/record.h"
#include "broker/journal/record_codec.h"
#include "broker/replica/batch.h"
#include "broker/replica/log_store.h"

namespace gearstalk {

// Takes the parts of a log in order, checks them, and applies whole batches only. A batch is void,
// and dropped, when a part of a newer epoch comes before its last part.
//
// Apply works in slices and may return in the middle of a batch; nothing reads the state until the
// batch is whole.
class Follower {
 public:
  class Sink {
   public:
    // A whole batch comes, which begins with the part `first`; `bytes` is the size of its parts,
    // and of void ones before it, `pieces` how much of its payload is in each part.
    virtual Status OnBatch(const PartHeader& first, std::uint64_t bytes,
                           const std::vector<std::uint32_t>& pieces) = 0;
    // A record of it, and the length of its frame.
    virtual Status OnRecord(const Record& record, std::size_t size) = 0;

   protected:
    ~Sink() = default;
  };

  explicit Follower(Sink& sink) : sink_(sink) {}

  // The log begins with this sequence number, whose chain is not checked.
  void Begin(std::uint64_t oldest) { next_ = first_ = oldest; }

  // Takes the next part and ignores parts that it has seen. Errors name the key and the damage.
  Status Take(const LogPart& part);
  // Applies records until `over`, called every few records, returns true. An error ends it.
  Status Apply(const std::function<bool()>& over);

  std::uint64_t next() const { return next_; }  // the sequence number that Take expects
  bool idle() const { return whole_.empty(); }  // all whole batches were applied
  // Whether all whole batches were applied that begin with this part or before; it has come.
  bool HasApplied(std::uint64_t seq) const {
    return next_ > seq && (whole_.empty() || whole_.front().first.seq > seq);
  }
  Lsn last() const { return applied_; }  // position of the last record applied
  std::uint64_t chain() const { return chain_; }
  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t batches() const { return batches_; }  // applied
  std::uint64_t behind() const { return whole_.size(); }
  std::uint64_t stored_bytes() const { return stored_bytes_; }
  std::uint64_t waiting_bytes() const { return waiting_bytes_; }
  std::uint64_t voided() const { return voided_; }
  // Bytes of a batch that lacks its last part.
  std::uint64_t open_bytes() const { return open_.payload.size(); }
  // What the newest part says.
  std::uint64_t oldest() const { return oldest_; }
  Time wall() const { return wall_; }

 private:
  struct Batch {
    PartHeader first;
    std::string payload;
    std::uint64_t bytes = 0;  // of its parts
    std::vector<std::uint32_t> pieces;
    std::size_t read = 0;  // of the payload, applied
    std::uint32_t records = 0;
    bool begun = false;
  };

  Status CheckOrder(const LogPart& part, const PartHeader& header);
  Status Extend(const PartHeader& header, std::string_view payload, std::size_t size);
  Status ApplyOne(Batch& batch);

  Sink& sink_;
  RecordCodec codec_;
  std::deque<Batch> whole_;
  Batch open_;  // lacks its last part
  bool is_open_ = false;
  std::uint64_t first_ = 1, next_ = 1;
  std::uint64_t chain_ = 0;
  std::uint64_t epoch_ = 0;
  std::uint64_t segment_ = 0;
  bool reign_over_ = false;  // the last part was the last of its reign
  Lsn position_ = 0;         // of the last record of all whole batches taken
  bool positioned_ = false;
  Lsn applied_ = 0;
  std::uint64_t batches_ = 0, voided_ = 0, stored_bytes_ = 0, waiting_bytes_ = 0;
  std::uint64_t void_bytes_ = 0;  // of parts dropped since the last batch
  std::uint64_t oldest_ = 0;
  Time wall_ = 0;
};

// Compares what `tail` says with the parts from its last one on, as they were at that revision.
Status CheckTail(const LogView& view, const std::vector<LogPart>& end);

// Of a shard without any small key, of which the first parts were read: parts without any other key
// are those of a journal whose other keys were deleted.
Status CheckRemains(const std::vector<LogPart>& first, const StoreWords& words);

// The name of a part's key behind the prefix: "j/" and 16 hex digits.
std::string PartName(std::uint64_t seq);

}  // namespace gearstalk
