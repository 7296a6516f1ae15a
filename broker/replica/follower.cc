#include "broker/replica/follower.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace gearstalk {
namespace {

Status Damaged(std::uint64_t seq, const auto&... what) {
  return {Code::kCorrupt, absl::StrCat(PartName(seq), ": ", what...)};
}

Status At(std::uint64_t seq, const Status& status) {
  return {status.code(), PartName(seq) + ": " + status.message()};
}

}  // namespace

std::string PartName(std::uint64_t seq) {
  return absl::StrCat("j/", absl::Hex(seq, absl::kZeroPad16));
}

Status CheckTail(const LogView& view, const std::vector<LogPart>& end) {
  for (const LogPart& part : end) {
    if (part.seq > view.last) {
      return Damaged(part.seq, "lies behind the end of the journal that `tail` names");
    }
    PartHeader header;
    std::string_view payload;
    if (DecodePart(part.bytes, header, payload).ok() && header.oldest != view.oldest) {
      return {Code::kCorrupt, "tail: the journal begins with " + PartName(view.oldest) +
                                  ", but its last part says " + PartName(header.oldest)};
    }
  }
  return {};
}

Status CheckRemains(const std::vector<LogPart>& first, const StoreWords& words) {
  if (first.empty()) return {};
  return {Code::kCorrupt, "meta, leader and tail are missing, and " + PartName(first.front().seq) +
                              " is there: keys of this journal were deleted; restore " +
                              words.name + ", or " + words.erase + " to begin without any job"};
}

Status Follower::Take(const LogPart& part) {
  if (part.seq < next_) return {};
  if (part.seq > next_) return Damaged(next_, "is missing");
  PartHeader header;
  std::string_view payload;
  if (Status status = DecodePart(part.bytes, header, payload); !status.ok()) {
    return At(part.seq, status);
  }
  GS_TRY(CheckOrder(part, header));
  if (header.epoch > epoch_ && is_open_) {
    waiting_bytes_ -= open_.payload.size();
    void_bytes_ += open_.bytes;
    open_ = {};
    is_open_ = false;
    ++voided_;
  }
  epoch_ = header.epoch;
  chain_ = header.chain;
  oldest_ = header.oldest;
  wall_ = header.wall;
  reign_over_ = (header.flags & PartHeader::kLast) != 0 && !header.more();
  ++next_;
  stored_bytes_ += part.bytes.size();
  return Extend(header, payload, part.bytes.size());
}

Status Follower::CheckOrder(const LogPart& part, const PartHeader& header) {
  if (header.seq != part.seq) {
    return Damaged(part.seq, "holds the part ", PartName(header.seq));
  }
  if (part.seq != first_ && !ChainFits(part.bytes, header, chain_)) {
    return Damaged(part.seq, "the checksum is wrong");
  }
  if (header.epoch < epoch_) {
    return Damaged(part.seq, "epoch ", header.epoch, " comes after ", epoch_);
  }
  if (reign_over_ && header.epoch == epoch_) {
    return Damaged(part.seq, "follows the last batch of its epoch");
  }
  return {};
}

// Adds a part to the batch that is open, or begins one with it.
Status Follower::Extend(const PartHeader& header, std::string_view payload, std::size_t size) {
  if (!is_open_) {
    if (positioned_ && header.position != position_ + 1) {
      return Damaged(header.seq, "its first record is number ", header.position, ", not ",
                     position_ + 1);
    }
    if (positioned_ && header.segment != segment_ && header.segment != segment_ + 1) {
      return Damaged(header.seq, "segment ", header.segment, " comes after ", segment_);
    }
    is_open_ = true;
    open_.first = header;
    open_.bytes = std::exchange(void_bytes_, 0);
  } else if (header.position != open_.first.position || header.records != open_.first.records ||
             header.segment != open_.first.segment) {
    return Damaged(header.seq, "does not belong to the batch that is open before it");
  }
  open_.payload.append(payload);
  open_.pieces.push_back(static_cast<std::uint32_t>(payload.size()));
  open_.bytes += size;
  waiting_bytes_ += payload.size();
  if (header.more()) return {};
  positioned_ = true;
  position_ = open_.first.position + open_.first.records - 1;
  segment_ = open_.first.segment;
  whole_.push_back(std::exchange(open_, {}));
  is_open_ = false;
  return {};
}

Status Follower::Apply(const std::function<bool()>& over) {
  constexpr int kBetweenLooks = 32;
  for (int n = 1; !whole_.empty(); ++n) {
    Batch& batch = whole_.front();
    if (!std::exchange(batch.begun, true)) {
      Status status = sink_.OnBatch(batch.first, batch.bytes, batch.pieces);
      if (!status.ok()) return At(batch.first.seq, status);
    }
    if (batch.read < batch.payload.size()) {
      if (Status status = ApplyOne(batch); !status.ok()) return At(batch.first.seq, status);
    } else {
      if (batch.records != batch.first.records) {
        return Damaged(batch.first.seq, "the batch has ", batch.records, " records, not ",
                       batch.first.records);
      }
      applied_ = batch.first.position + batch.records - 1;
      waiting_bytes_ -= batch.payload.size();
      ++batches_;
      whole_.pop_front();
    }
    if (n % kBetweenLooks == 0 && over()) break;
  }
  return {};
}

Status Follower::ApplyOne(Batch& batch) {
  ReplicaFrame frame;
  if (!ReadFrame(std::string_view(batch.payload).substr(batch.read), frame)) {
    return {Code::kCorrupt, "a record is cut off"};
  }
  Record record;
  GS_TRY(codec_.Decode(frame.record, frame.body, record));
  batch.read += frame.size;
  ++batch.records;
  return sink_.OnRecord(record, frame.size);
}

}  // namespace gearstalk
