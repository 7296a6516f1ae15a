#include "broker/journal/compactor.h"

#include <algorithm>

#include "broker/base/check.h"

namespace gearstalk {

void Compactor::Begin(std::uint64_t segment, std::uint64_t size) {
  GS_CHECK(segments_.empty() || segments_.back().number + 1 == segment);
  segments_.push_back({});
  segments_.back().number = segment;
  Resize(size);
}

void Compactor::Resize(std::uint64_t size) {
  total_ += size - segments_.back().size;
  segments_.back().size = size;
}

void Compactor::OnRecord(const Record& record, std::uint64_t bytes) {
  switch (KeptAfter(record.kind)) {
    case Keeps::kJob:
    case Keeps::kKey:
      garbage_ += Settle(record.id, bytes);
      break;
    case Keeps::kNothing:
      garbage_ += bytes + Remove(jobs_.Erase(record.id));
      break;
    case Keeps::kSame:
      garbage_ += bytes;
      break;
  }
}

void Compactor::OnCarried(std::uint64_t id, std::uint64_t bytes) {
  Settle(id, bytes);
  allowed_ -= std::min(allowed_, bytes);
}

void Compactor::OnSettings(std::uint64_t bytes) {
  garbage_ += settings_;
  settings_ = bytes;
}

std::uint64_t Compactor::Settle(std::uint64_t id, std::uint64_t bytes) {
  Segment& segment = segments_.back();
  const std::uint64_t useless = Remove(jobs_.Set(id, segment.number, bytes));
  segment.live += LiveJobs::Rounded(bytes);
  live_ += LiveJobs::Rounded(bytes);
  NoteId(segment, id);
  return useless;
}

std::uint64_t Compactor::Remove(const LiveJobs::Place& place) {
  if (place.segment == 0) return 0;
  Of(place.segment).live -= place.bytes;
  live_ -= place.bytes;
  return place.bytes;
}

// Ids of one segment mostly rise by one: a byte each.
void Compactor::NoteId(Segment& segment, std::uint64_t id) {
  const auto difference = static_cast<std::int64_t>(id - segment.last_id);
  auto rest =
      (static_cast<std::uint64_t>(difference) << 1U) ^ static_cast<std::uint64_t>(difference >> 63);
  for (; rest >= 0x80; rest >>= 7U) {
    segment.ids.push_back(static_cast<std::uint8_t>(rest | 0x80U));
  }
  segment.ids.push_back(static_cast<std::uint8_t>(rest));
  segment.last_id = id;
}

void Compactor::DropCurrent() {
  Resize(0);
  segments_.pop_back();
}

std::uint64_t Compactor::Allowance(std::optional<std::uint64_t> room) {
  allowed_ += kPace * garbage_;
  garbage_ = 0;
  if (segments_.size() == 1) {
    allowed_ = 0;
  } else if (room) {
    const Segment& oldest = segments_.front();
    const bool pays = oldest.live < oldest.size / 8 * 7 && oldest.live < *room / 8 * 7;
    allowed_ = pays ? oldest.live + oldest.live / 8 : 0;
  } else if (!Wanted()) {
    allowed_ = 0;
  }
  return std::min(allowed_, std::clamp(allowed_ / 4, kLeastShare, kMostShare));
}

std::optional<std::uint64_t> Compactor::NextLive(int& steps) {
  const Segment& segment = segments_.front();
  for (; steps > 0; --steps) {
    GS_CHECK(walk_ < segment.ids.size());  // else the live count is wrong
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint8_t byte = segment.ids[walk_++];
      value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) break;
    }
    walk_id_ += (value >> 1U) ^ (0 - (value & 1U));
    if (jobs_.Find(walk_id_).segment == segment.number) return walk_id_;
  }
  return std::nullopt;
}

std::uint64_t Compactor::InOldest(std::uint64_t id) const {
  const LiveJobs::Place place = jobs_.Find(id);
  return place.segment == oldest() ? place.bytes : 0;
}

void Compactor::Forget(std::uint64_t id) { Remove(jobs_.Erase(id)); }

void Compactor::DropOldest() {
  total_ -= segments_.front().size;
  segments_.pop_front();
  walk_ = 0;
  walk_id_ = 0;
}

void Compactor::EarnFromStart() {
  garbage_ = 0;
  allowed_ = Wanted() ? total_ : 0;
}

}  // namespace gearstalk
