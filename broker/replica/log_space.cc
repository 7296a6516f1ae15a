#include "broker/replica/log_space.h"

#include <xxhash.h>

#include <algorithm>

#include "broker/replica/batch.h"

namespace gearstalk {

void LogSpace::Begin(std::uint64_t segment) {
  if (!segments_.empty()) segments_.back().ends.shrink_to_fit();
  compactor_.Begin(segment, 0);
  current_size_ = 0;
  segments_.push_back({segment, 0, 0, {}});
}

bool LogSpace::SegmentIsFull(std::uint64_t settings, std::uint64_t max_bytes) const {
  const std::uint64_t usual = std::min(kSegmentBytes, max_bytes / 16);
  return current_size_ >= settings + std::max(usual, std::min(3 * settings, max_bytes / 8));
}

Compactor::Frame LogSpace::OnFrame(const Record& record, std::size_t size) {
  Compactor::Frame frame{.bytes = size};
  if (keeps_bodies_) {
    frame.offset = current_size_;
    if (record.body.size() >= kLeastLeftOut) frame.check = CheckOf(record.id, record.body);
  }
  current_size_ += size;
  compactor_.Resize(current_size_);
  return frame;
}

void LogSpace::OnStored(std::uint64_t segment, std::uint64_t seq, std::uint64_t bytes,
                        const std::vector<std::uint32_t>& pieces) {
  bytes_ += bytes;
  Segment* const found = Find(segment);
  if (found == nullptr) return;
  if (found->first == 0) found->first = seq;
  found->bytes += bytes;
  if (!keeps_bodies_) return;
  std::vector<std::uint32_t>& ends = found->ends;
  for (const std::uint32_t size : pieces) ends.push_back((ends.empty() ? 0 : ends.back()) + size);
}

const LogSpace::Segment* LogSpace::Find(std::uint64_t number) const {
  if (segments_.empty() || number < segments_.front().number) return nullptr;
  const std::uint64_t at = number - segments_.front().number;
  return at < segments_.size() ? &segments_[static_cast<std::size_t>(at)] : nullptr;
}

std::uint32_t LogSpace::CheckOf(std::uint64_t id, std::string_view body) {
  return static_cast<std::uint32_t>(XXH3_64bits_withSeed(body.data(), body.size(), id));
}

bool LogSpace::IsStored(std::uint64_t segment, std::uint64_t end) const {
  const Segment* const found = Find(segment);
  return found != nullptr && !found->ends.empty() && end <= found->ends.back();
}

void LogSpace::Locate(std::uint64_t segment, std::uint64_t from, std::uint64_t to,
                      std::vector<PartPiece>& pieces) const {
  const Segment& of = *Find(segment);
  auto end = std::upper_bound(of.ends.begin(), of.ends.end(), from);
  for (; from < to; ++end) {
    const std::uint64_t begin = end == of.ends.begin() ? 0 : *(end - 1);
    const std::uint64_t size = std::min<std::uint64_t>(to, *end) - from;
    if (size == 0) continue;
    pieces.push_back({of.first + static_cast<std::uint64_t>(end - of.ends.begin()),
                      static_cast<std::uint32_t>(kPartHeaderSize + from - begin),
                      static_cast<std::uint32_t>(size)});
    from += size;
  }
}

void LogSpace::Drop(Lsn last) {
  dropping_ = compactor_.oldest();
  dropping_after_ = last;
}

bool LogSpace::Declare(Lsn durable) {
  if (dropping_ == 0 || durable < dropping_after_) return false;
  const Segment* const found = Find(dropping_);
  if (found == nullptr || found->first == 0) return false;
  oldest_ = found->first;
  dropping_ = 0;
  return true;
}

// The live records of the segments before were carried forward, and those copies were applied.
void LogSpace::OnOldest(std::uint64_t seq) {
  oldest_ = declared_ = std::max(oldest_, seq);
  OnTrimmed(seq);
}

// A broker that leads has dropped them from the compactor before.
void LogSpace::OnTrimmed(std::uint64_t seq) {
  while (segments_.size() > 1 && segments_[1].first != 0 && segments_[1].first <= seq) {
    compactor_.DropIfDone(segments_.front().number);
    bytes_ -= std::min(bytes_, segments_.front().bytes);
    segments_.pop_front();
  }
}

}  // namespace gearstalk
