#include "broker/engine/failures.h"

#include <fmt/format.h>

#include <functional>
#include <iterator>
#include <utility>

#include "broker/base/check.h"
#include "broker/engine/tube.h"

namespace gearstalk {

JobId Failures::Block::At(std::size_t i) const {
  if (!wide_) return base_ + words_[i];
  return JobId{words_[2 * i]} << 32 | words_[2 * i + 1];
}

void Failures::Block::Set(std::size_t i, JobId id) {
  if (!wide_) {
    words_[i] = static_cast<std::uint32_t>(id - base_);
  } else {
    words_[2 * i] = static_cast<std::uint32_t>(id >> 32);
    words_[2 * i + 1] = static_cast<std::uint32_t>(id);
  }
}

void Failures::Block::Remove(JobId id) {
  std::size_t i = 0;
  while (i < size_ && At(i) != id) ++i;
  GS_CHECK(i < size_);
  --size_;
  if (i < size_) Set(i, At(size_));
}

void Failures::Block::Widen() {
  for (std::size_t i = size_; i-- > 0;) {
    const JobId id = At(i);
    wide_ = true;
    Set(i, id);
    wide_ = false;
  }
  wide_ = true;
}

std::unique_ptr<Failures::Block> Failures::Block::Cut(const std::vector<Place>& sorted,
                                                      std::size_t size) {
  auto rest = std::make_unique<Block>(base_);
  rest->base_ = base_;
  rest->wide_ = wide_;
  rest->last = last;
  for (std::size_t i = size; i < sorted.size(); ++i) rest->Push(sorted[i].id);
  size_ = 0;
  for (std::size_t i = 0; i < size; ++i) Push(sorted[i].id);
  last = sorted[size - 1];
  return rest;
}

std::vector<Failures::Place> Failures::PlacesIn(const Block& block) const {
  std::vector<Place> places;
  places.reserve(block.size());
  for (std::size_t i = 0; i < block.size(); ++i) {
    places.push_back(PlaceOf(*jobs_.Find(block.At(i))));
  }
  return places;
}

std::vector<Failures::Place> Failures::Before(Place place) const {
  auto at = blocks_.lower_bound(place);
  while (at != blocks_.begin()) {
    std::vector<Place> places = PlacesIn(*(--at)->second);
    std::erase_if(places, [&](const Place& each) { return each >= place; });
    if (places.empty()) continue;  // all of this block are at `place` or later
    std::sort(places.begin(), places.end(), std::greater<>());
    return places;
  }
  return {};
}

// The same in the other direction.
std::vector<Failures::Place> Failures::After(Place place) const {
  auto at = blocks_.upper_bound(place);
  if (at != blocks_.begin()) --at;
  for (; at != blocks_.end(); ++at) {
    if (at->second->last <= place) continue;
    std::vector<Place> places = PlacesIn(*at->second);
    std::erase_if(places, [&](const Place& each) { return each <= place; });
    if (places.empty()) continue;
    std::sort(places.begin(), places.end());
    return places;
  }
  return {};
}

void Failures::Add(const Job& job) {
  const Place place = PlaceOf(job);
  ++size_;
  if (IsLate(job)) {
    ++job.tube().buried_lately;
    next_ = std::min(next_, Later(place.ended, kLately));
  }
  const auto at = MakeRoom(BlockFor(place), place);
  at->second->Push(place.id);
  at->second->last = std::max(at->second->last, place);
}

// The block that the place belongs to.
Failures::Blocks::iterator Failures::BlockFor(Place place) {
  auto at = blocks_.upper_bound(place);
  if (at != blocks_.begin()) return std::prev(at);
  auto block = std::make_unique<Block>(place.id);
  if (at != blocks_.end()) {
    block = std::move(at->second);
    blocks_.erase(at);
  }
  return blocks_.emplace(place, std::move(block)).first;
}

Failures::Blocks::iterator Failures::MakeRoom(Blocks::iterator at, Place place) {
  const Block& block = *at->second;
  if (block.Fits(place.id) && !block.full()) return at;
  if (place > block.last) {
    return blocks_.emplace(place, std::make_unique<Block>(place.id)).first;
  }
  if (!block.Fits(place.id)) {
    if (block.size() > kMost / 2) at = Split(at, place);
    at->second->Widen();
  }
  return at->second->full() ? Split(at, place) : at;
}

// Returns the half that the place belongs to.
Failures::Blocks::iterator Failures::Split(Blocks::iterator at, Place place) {
  std::vector<Place> places = PlacesIn(*at->second);
  std::sort(places.begin(), places.end());
  const std::size_t half = places.size() / 2;
  const Place middle = places[half];
  const auto right = blocks_.emplace(middle, at->second->Cut(places, half)).first;
  return place < middle ? std::prev(right) : right;
}

void Failures::Remove(const Job& job) {
  const Place place = PlaceOf(job);
  --size_;
  if (IsLate(job)) --job.tube().buried_lately;
  const auto at = std::prev(blocks_.upper_bound(place));
  at->second->Remove(place.id);
  if (at->second->size() == 0) {
    blocks_.erase(at);
  } else if (at->second->size() < kMost / 4) {
    Merge(at);
  }
}

// With a neighbour, if both together leave room.
void Failures::Merge(Blocks::iterator at) {
  if (at != blocks_.begin() && TryMerge(std::prev(at), at)) return;
  if (std::next(at) != blocks_.end()) TryMerge(at, std::next(at));
}

bool Failures::TryMerge(Blocks::iterator left, Blocks::iterator right) {
  Block& into = *left->second;
  const Block& from = *right->second;
  if (into.wide() || from.size() + into.size() > kMost * 3 / 4) return false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!into.Fits(from.At(i))) return false;
  }
  for (std::size_t i = 0; i < from.size(); ++i) into.Push(from.At(i));
  into.last = std::max(into.last, from.last);
  blocks_.erase(right);
  return true;
}

void Failures::Tick(Time now, int& steps) {
  if (now < next_) return;
  const Place newest_old{now - kLately, UINT64_MAX};
  const std::vector<Place> places = After(aged_);
  for (const Place& place : places) {
    if (place > newest_old) {
      // To the second, so that a block is not sorted for each of its jobs.
      next_ = std::max(Later(place.ended, kLately), now + kSecond);
      aged_ = std::max(aged_, newest_old);
      return;
    }
    const Job& job = *jobs_.Find(place.id);
    if (job.state() == JobState::kBuried) --job.tube().buried_lately;
    aged_ = place;
    --steps;
  }
  next_ = places.empty() ? kNever : now;
}

std::string Failures::Check() const {
  std::size_t size = 0;
  for (auto at = blocks_.begin(); at != blocks_.end(); ++at) {
    const Block& block = *at->second;
    size += block.size();
    const auto next = std::next(at);
    for (std::size_t i = 0; i < block.size(); ++i) {
      const Job* const job = jobs_.Find(block.At(i));
      if (job == nullptr || !Failed(*job)) return fmt::format("job {} has not failed", block.At(i));
      const Place place = PlaceOf(*job);
      const bool in_order = place >= at->first && place <= block.last &&
                            (next == blocks_.end() || place < next->first);
      if (!in_order) return fmt::format("the failure of job {} is in another block", job->id());
    }
  }
  return size == size_ ? "" : fmt::format("{} failures are kept, not {}", size, size_);
}

}  // namespace gearstalk
