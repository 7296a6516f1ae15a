#pragma once

#include <absl/container/btree_map.h>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "broker/base/clock.h"
#include "broker/engine/id_table.h"
#include "broker/engine/job.h"
#include "broker/engine/slab.h"

namespace gearstalk {

// The failed jobs, buried and dead ones, by the time of their failure. Part of the store.
//
// Jobs that failed one after the other share a block of 1 KB, which is not sorted: 4.3 bytes a job.
// Adding and removing cost O(log n); a walk sorts a block at a time.
class Failures {
 public:
  // Earlier is smaller. A failure whose time is not known has 0.
  struct Place {
    Time ended = 0;
    JobId id = 0;
    // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the language's 0 for a pointer.
    auto operator<=>(const Place&) const = default;
  };
  static Place PlaceOf(const Job& job) { return {job.extra().ended, job.id()}; }
  static constexpr Place kEnd{kNever, UINT64_MAX};
  // Tube::buried_lately counts failures that are not older.
  static constexpr Time kLately = 24 * 3600 * kSecond;

  explicit Failures(const IdTable<Job>& jobs) : jobs_(jobs) {}

  std::size_t size() const { return size_; }
  // The next failures before `place`, the latest first, at most kMost; empty: there are none. Begin
  // with kEnd. For walks in slices: a place stays valid across changes.
  std::vector<Place> Before(Place place) const;
  static constexpr std::size_t kMost = 248;

  // A failed job entered a state, or is about to leave it. In between its failure does not change.
  void Add(const Job& job);
  void Remove(const Job& job);
  // Failures get older than kLately: at most the jobs of a block, which use up steps.
  void Tick(Time now, int& steps);
  Time next() const { return next_; }

  // For tests: the first thing that is wrong; empty: nothing is. O(n).
  std::string Check() const;
  bool IsLate(const Job& job) const {
    return job.state() == JobState::kBuried && PlaceOf(job) > aged_;
  }

 private:
  // Ids as distances from a base in a word each, or as two words if they are too far apart.
  class Block : public InJobMemory {
   public:
    explicit Block(JobId first) : base_(first - std::min(first, JobId{1} << 31)) {}
    std::size_t size() const { return size_; }
    bool wide() const { return wide_; }
    bool full() const { return size_ == (wide_ ? kMost / 2 : kMost); }
    bool Fits(JobId id) const { return wide_ || id - base_ <= UINT32_MAX; }
    JobId At(std::size_t i) const;
    // It fits, and there is room.
    void Push(JobId id) { Set(size_++, id); }
    void Remove(JobId id);
    // At most half of the words are used.
    void Widen();
    // Keeps the first `size`, and returns a block like it with the others.
    std::unique_ptr<Block> Cut(const std::vector<Place>& sorted, std::size_t size);

    Place last;  // none that is in it was later

   private:
    void Set(std::size_t i, JobId id);

    JobId base_;
    std::uint16_t size_ = 0;
    bool wide_ = false;
    std::array<std::uint32_t, kMost> words_{};
  };
  static_assert(sizeof(Block) == 1024, "a block of the slab");

  // Key: a place that is not later than any failure in the block.
  using Blocks = absl::btree_map<Place, std::unique_ptr<Block>>;

  std::vector<Place> PlacesIn(const Block& block) const;
  std::vector<Place> After(Place place) const;
  Blocks::iterator BlockFor(Place place);
  Blocks::iterator MakeRoom(Blocks::iterator at, Place place);
  Blocks::iterator Split(Blocks::iterator at, Place place);
  void Merge(Blocks::iterator at);
  bool TryMerge(Blocks::iterator left, Blocks::iterator right);

  const IdTable<Job>& jobs_;
  Blocks blocks_;
  std::size_t size_ = 0;
  Place aged_{0, UINT64_MAX};  // those up to it are older than kLately, or of an unknown time
  Time next_ = kNever;         // when to call Tick
};

}  // namespace gearstalk
