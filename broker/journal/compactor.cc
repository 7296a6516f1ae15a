#include "broker/journal/compactor.h"

#include "broker/base/check.h"
#include "broker/base/stored_number.h"

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

void Compactor::OnRecord(const Record& record, const Frame& frame) {
  switch (KeptAfter(record.kind)) {
    case Keeps::kJob:
    case Keeps::kKey:
      garbage_ += Settle(record.id, frame);
      break;
    case Keeps::kNothing:
      garbage_ += frame.bytes + Remove(jobs_.Erase(record.id));
      break;
    case Keeps::kSame:
      garbage_ += frame.bytes;
      break;
  }
}

void Compactor::OnSettings(std::uint64_t bytes) {
  garbage_ += settings_;
  settings_ = bytes;
}

std::uint64_t Compactor::Settle(std::uint64_t id, const Frame& frame) {
  Segment& segment = segments_.back();
  const std::uint64_t useless =
      Remove(jobs_.Set(id, {segment.number, frame.bytes, frame.offset, frame.check}));
  segment.live += frame.bytes;
  live_ += frame.bytes;
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
  AppendVarint(segment.ids, (static_cast<std::uint64_t>(difference) << 1U) ^
                                static_cast<std::uint64_t>(difference >> 63));
  segment.last_id = id;
}

void Compactor::DropCurrent() {
  Resize(0);
  segments_.pop_back();
}

bool Compactor::CarryForward(const Carrier& carrier) {
  std::uint64_t allowance = Allowance(carrier.room);
  int steps = kSteps;
  while (allowance > 0 && !OldestIsDone()) {
    if (!LookAhead(steps, carrier)) return false;
    const std::uint64_t id = ahead_.front().id;
    if (carrier.fits && !carrier.fits(InOldest(id))) return true;
    if (carrier.ready && !carrier.ready(id)) return true;
    PopAhead();
    allowance -= std::min(allowance, Carry(id, carrier));
  }
  return true;
}

// Finds the next jobs to carry; there is one. False: it has run out of steps.
bool Compactor::LookAhead(int& steps, const Carrier& carrier) {
  while (!ahead_.empty() && InOldest(ahead_.front().id) == 0) PopAhead();
  while (ahead_.empty() || (carrier.ready && ahead_bytes_ < kAhead)) {
    const std::optional<std::uint64_t> next = NextLive(steps);
    if (!next) break;
    ahead_.push_back({*next, InOldest(*next)});
    ahead_bytes_ += ahead_.back().bytes;
    if (carrier.ready) carrier.ready(*next);
  }
  // Else the live count is wrong.
  GS_CHECK(!ahead_.empty() || walk_ < segments_.front().ids.size());
  return !ahead_.empty();
}

void Compactor::PopAhead() {
  ahead_bytes_ -= ahead_.front().bytes;
  ahead_.pop_front();
}

// Returns how much of the allowance it took.
std::uint64_t Compactor::Carry(std::uint64_t id, const Carrier& carrier) {
  std::uint64_t bytes = 1;
  const bool lives = carrier.state.Capture(id, [&](const Record& record) {
    const Frame frame = carrier.append(record);
    bytes = frame.bytes;
    Settle(record.id, frame);
    allowed_ -= std::min(allowed_, bytes);
    ++carried_;
    carried_bytes_ += bytes;
  });
  if (!lives) Remove(jobs_.Erase(id));
  return bytes;
}

// How many bytes may be carried forward now; 0: none need to be.
std::uint64_t Compactor::Allowance(std::optional<std::uint64_t> room) {
  allowed_ += kPace * garbage_;
  garbage_ = 0;
  if (segments_.size() == 1) {
    allowed_ = 0;
  } else if (room) {
    const Segment& oldest = segments_.front();
    const bool pays = oldest.live < oldest.size / 8 * 7 && oldest.live < *room / 8 * 7;
    allowed_ = pays ? oldest.live + oldest.live / 8 : 0;
  } else if (oldest() <= through_) {
    allowed_ = std::max(allowed_, segments_.front().live);
  } else if (!Wanted()) {
    allowed_ = 0;
  }
  return std::min(allowed_, std::clamp(allowed_ / 4, kLeastShare, kMostShare));
}

// The next job to carry out of the oldest segment, which is not the current one; counts down the
// records that it looks at. nullopt when it has run out of steps, or of records.
std::optional<std::uint64_t> Compactor::NextLive(int& steps) {
  const Segment& segment = segments_.front();
  for (; steps > 0 && walk_ < segment.ids.size(); --steps) {
    NextId(segment, walk_, walk_id_);
    if (jobs_.Find(walk_id_).segment == segment.number) return walk_id_;
  }
  return std::nullopt;
}

void Compactor::NextId(const Segment& segment, std::size_t& at, std::uint64_t& id) {
  std::uint64_t value = 0;
  std::string_view rest = std::string_view(segment.ids).substr(at);
  TakeVarint(rest, value);
  at = segment.ids.size() - rest.size();
  id += (value >> 1U) ^ (0 - (value & 1U));
}

void Compactor::VisitAt(std::uint64_t segment, std::uint64_t from, std::uint64_t to,
                        const std::function<void(std::uint64_t id)>& visit) const {
  if (segment < oldest() || segment > current()) return;
  const Segment& known = Of(segment);
  std::uint64_t id = 0;
  for (std::size_t at = 0; at < known.ids.size();) {
    NextId(known, at, id);
    const LiveJobs::Place place = jobs_.Find(id);
    if (place.segment == segment && place.offset >= from && place.offset < to) visit(id);
  }
}

std::uint64_t Compactor::BytesOf(std::uint64_t first, std::uint64_t last) const {
  std::uint64_t bytes = 0;
  for (std::uint64_t at = std::max(first, oldest()); at <= std::min(last, current()); ++at) {
    bytes += Of(at).size;
  }
  return bytes;
}

// How long the record of the job is if it lies in the oldest segment; else 0.
std::uint64_t Compactor::InOldest(std::uint64_t id) const {
  const LiveJobs::Place place = jobs_.Find(id);
  return place.segment == oldest() ? place.bytes : 0;
}

std::uint64_t Compactor::DropDone() {
  std::uint64_t dropped = 0;
  for (; OldestIsDone(); DropOldest()) ++dropped;
  released_ += dropped;
  return dropped;
}

bool Compactor::MostlyLives(std::uint64_t segment) const {
  if (segment < oldest()) return false;
  return Of(segment).live >= Of(segment).size / 2;
}

void Compactor::DropIfDone(std::uint64_t segment) {
  if (oldest() == segment && OldestIsDone()) DropOldest();
}

void Compactor::DropOldest() {
  total_ -= segments_.front().size;
  segments_.pop_front();
  walk_ = 0;
  walk_id_ = 0;
  ahead_.clear();
  ahead_bytes_ = 0;
}

void Compactor::Describe(SegmentStats& stats) const {
  stats.oldest = oldest();
  stats.current = current();
  stats.count = segments();
  stats.live_bytes = live_bytes();
  stats.migrated = carried_;
  stats.migrated_bytes = carried_bytes_;
  stats.released = released_;
}

void Compactor::EarnFromStart() {
  garbage_ = 0;
  allowed_ = Wanted() ? total_ : 0;
}

}  // namespace gearstalk
