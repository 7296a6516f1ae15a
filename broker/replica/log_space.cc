#include "broker/replica/log_space.h"

#include <algorithm>

namespace gearstalk {

void LogSpace::Begin(std::uint64_t segment) {
  compactor_.Begin(segment, 0);
  current_size_ = settings_ = 0;
  segments_.push_back({segment, 0, 0});
}

void LogSpace::OnSettings(std::size_t size) {
  Grow(size);
  settings_ = size;
  compactor_.OnSettings(size);
}

bool LogSpace::SegmentIsFull(std::uint64_t max_bytes) const {
  const std::uint64_t usual = std::min(kSegmentBytes, max_bytes / 16);
  return current_size_ >= settings_ + std::max(usual, std::min(3 * settings_, max_bytes / 8));
}

void LogSpace::Grow(std::size_t size) {
  current_size_ += size;
  compactor_.Resize(current_size_);
}

void LogSpace::OnRecord(const Record& record, std::size_t size) {
  Grow(size);
  compactor_.OnRecord(record, {size});
}

void LogSpace::OnStored(std::uint64_t segment, std::uint64_t seq, std::uint64_t bytes) {
  bytes_ += bytes;
  const auto found = std::find_if(segments_.begin(), segments_.end(),
                                  [&](const Segment& each) { return each.number == segment; });
  if (found == segments_.end()) return;
  if (found->first == 0) found->first = seq;
  found->bytes += bytes;
}

void LogSpace::Drop(Lsn last) {
  if (compactor_.DropDone() == 0) return;
  dropping_ = compactor_.oldest();
  dropping_after_ = last;
}

bool LogSpace::Declare(Lsn durable) {
  if (dropping_ == 0 || durable < dropping_after_) return false;
  const auto found = std::find_if(segments_.begin(), segments_.end(),
                                  [&](const Segment& each) { return each.number == dropping_; });
  if (found == segments_.end() || found->first == 0) return false;
  oldest_ = found->first;
  dropping_ = 0;
  return true;
}

// The live records of the segments before were carried forward, and those copies were applied.
void LogSpace::OnOldest(std::uint64_t seq) {
  oldest_ = declared_ = std::max(oldest_, seq);
  while (segments_.size() > 1 && segments_[1].first != 0 && segments_[1].first <= seq) {
    compactor_.DropIfDone(segments_.front().number);
    bytes_ -= std::min(bytes_, segments_.front().bytes);
    segments_.pop_front();
  }
}

void LogSpace::OnTrimmed(std::uint64_t seq) {
  while (segments_.size() > 1 && segments_[1].first != 0 && segments_[1].first <= seq) {
    bytes_ -= std::min(bytes_, segments_.front().bytes);
    segments_.pop_front();
  }
}

}  // namespace gearstalk
