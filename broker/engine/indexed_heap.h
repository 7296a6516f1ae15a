#pragma once

#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

#include "broker/base/check.h"
#include "broker/base/clock.h"

namespace gearstalk {

constexpr std::uint32_t kNoSlot = UINT32_MAX;  // of an element that is in no heap

// An element that has no order beside its time. It is in one heap at a time.
class HeapElement {
 public:
  bool in_heap() const { return slot_ != kNoSlot; }
  std::uint32_t& HeapSlot() { return slot_; }
  std::uint64_t HeapOrder() const { return 0; }

 private:
  std::uint32_t slot_ = kNoSlot;
};

// A 4-ary min-heap of pointers by (time, T::HeapOrder()), whose elements know their slot, so that
// any of them can be removed or moved in O(log n). Those at kNever have no order. Times lie in the
// heap: comparing touches no element unless times are equal. T provides `std::uint32_t& HeapSlot()`
// and `std::uint64_t HeapOrder() const`; it outlives its stay here.
template <typename T>
class IndexedHeap {
 public:
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  T* top() const { return entries_.front().item; }
  Time top_time() const { return entries_.empty() ? kNever : entries_.front().time; }
  Time TimeAt(std::uint32_t slot) const { return entries_[slot].time; }
  T* At(std::size_t slot) const { return entries_[slot].item; }

  // Visits the first `bound` in order and changes nothing. O(bound log bound).
  template <typename Visit>
  void VisitFirst(std::size_t bound, Visit visit) const {
    const auto later = [this](std::size_t a, std::size_t b) {
      return Before(entries_[b], entries_[a]);
    };
    std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> next(later);
    if (!entries_.empty()) next.push(0);
    for (; bound > 0 && !next.empty(); --bound) {
      const std::size_t slot = next.top();
      next.pop();
      visit(*entries_[slot].item);
      const std::size_t end = slot * 4 + 5 < entries_.size() ? slot * 4 + 5 : entries_.size();
      for (std::size_t child = slot * 4 + 1; child < end; ++child) next.push(child);
    }
  }

  void Push(Time time, T* item) {
    entries_.push_back({time, item});
    SiftUp(entries_.size() - 1, {time, item});
  }

  // Its slot has no meaning from then on.
  void Remove(T* item) {
    const std::size_t slot = item->HeapSlot();
    GS_DCHECK(slot < entries_.size() && entries_[slot].item == item);
    const Entry last = entries_.back();
    entries_.pop_back();
    if (slot < entries_.size()) Place(slot, last);
    // Gives the memory of a past peak back.
    if (entries_.empty() && entries_.capacity() > 64) entries_.shrink_to_fit();
  }

  // For elements whose slot is kNoSlot while they are in no heap.
  void Drop(T* item) {
    if (item->HeapSlot() == kNoSlot) return;
    Remove(item);
    item->HeapSlot() = kNoSlot;
  }
  void Set(Time time, T* item) {
    item->HeapSlot() == kNoSlot ? Push(time, item) : Move(item, time);
  }
  // kNever: it is not in the heap.
  void Await(Time time, T* item) { time == kNever ? Drop(item) : Set(time, item); }

  void Move(T* item, Time time) { Place(item->HeapSlot(), {time, item}); }

 private:
  struct Entry {
    Time time;
    T* item;
  };

  static bool Before(const Entry& a, const Entry& b) {
    if (a.time != b.time || a.time == kNever) return a.time < b.time;
    return a.item->HeapOrder() < b.item->HeapOrder();
  }

  void Put(std::size_t slot, Entry entry) {
    entries_[slot] = entry;
    entry.item->HeapSlot() = static_cast<std::uint32_t>(slot);
  }

  void Place(std::size_t slot, Entry entry) {
    if (slot > 0 && Before(entry, entries_[(slot - 1) / 4])) {
      SiftUp(slot, entry);
    } else {
      SiftDown(slot, entry);
    }
  }

  void SiftUp(std::size_t slot, Entry entry) {
    while (slot > 0) {
      const std::size_t parent = (slot - 1) / 4;
      if (!Before(entry, entries_[parent])) break;
      Put(slot, entries_[parent]);
      slot = parent;
    }
    Put(slot, entry);
  }

  void SiftDown(std::size_t slot, Entry entry) {
    const std::size_t size = entries_.size();
    for (;;) {
      const std::size_t first = slot * 4 + 1;
      if (first >= size) break;
      std::size_t best = first;
      const std::size_t end = first + 4 < size ? first + 4 : size;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (Before(entries_[child], entries_[best])) best = child;
      }
      if (!Before(entries_[best], entry)) break;
      Put(slot, entries_[best]);
      slot = best;
    }
    Put(slot, entry);
  }

  std::vector<Entry> entries_;
};

}  // namespace gearstalk
