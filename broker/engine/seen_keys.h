#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "broker/base/clock.h"
#include "broker/base/lsn.h"
#include "broker/engine/indexed_heap.h"
#include "broker/engine/job.h"
#include "broker/engine/linear_hash.h"
#include "broker/journal/journal.h"

namespace gearstalk {

// The keys of finished jobs that stay taken for a time (`unique_for`). A key is known by a hash of
// 128 bits, so that a body costs no more than a word. Adding and removing cost O(log n). Part of
// the engine.
class SeenKeys {
 public:
  static constexpr std::size_t kMost = 1'000'000;  // beyond it the oldest go first

  using Key = std::string;  // 16 bytes
  static Key KeyOf(const Job& job);

  struct Seen {
    JobId id = 0;  // of the finished job
    std::string tube;
    Key key;
    Time until = 0;
    bool stored = true;  // the journal knows it
    std::uint32_t slot = 0;

    std::uint32_t& HeapSlot() { return slot; }
    std::uint64_t HeapOrder() const { return id; }
  };

  explicit SeenKeys(Journal& journal) : journal_(journal) {}
  SeenKeys(const SeenKeys&) = delete;
  SeenKeys& operator=(const SeenKeys&) = delete;
  ~SeenKeys();

  std::size_t size() const { return by_time_.size(); }
  const Seen* Find(std::string_view tube, const Key& key) const;
  const Seen* FindById(JobId id) const;
  // The job is finished, and its key stays taken. Its record takes the place of the deletion.
  Lsn Remember(const Job& job, Time until);
  // Forgets what is due, at most `steps`, which are used up then.
  void Tick(Time now, int& steps);
  Time next() const { return by_time_.top_time(); }

  static Record RecordOf(const Seen& seen);
  // A replay: takes the place of an older one with this key, or of this job.
  void Add(Seen seen);
  void Remove(JobId id);

 private:
  void Remove(Seen& seen);
  void ForgetFirst();

  Journal& journal_;
  LinearHash<Seen> by_key_;
  LinearHash<Seen> by_id_;
  IndexedHeap<Seen> by_time_;
};

}  // namespace gearstalk
