#pragma once

#include <absl/container/flat_hash_map.h>

#include <boost/container/small_vector.hpp>
#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <memory>

#include "broker/base/clock.h"
#include "broker/engine/indexed_heap.h"
#include "broker/engine/slab.h"

namespace gearstalk {

class Consumer;
class Tube;

// One tube that one consumer watches. While its consumer waits, it is in the tube's wait queue
// (`line`). Consumers of more than kWide tubes are kept in `wide` all the time, so that starting
// to wait is O(1).
// InBlocks: about 40 bytes are what its consumer needs to find it.
struct WatchEntry : InBlocks<CountTableMemory, 40> {
  WatchEntry(Tube& of, Consumer& by) : tube(of), consumer(by) {}
  Tube& tube;
  Consumer& consumer;
  Time run_limit = 0;    // CAN_DO_TIMEOUT, 0 = none
  bool counted = false;  // in the tube's number of workers
  // In the consumer's ReadyIndex: its place there, and which job was the tube's front.
  std::uint32_t slot = kNoSlot;
  std::uint64_t front = 0;
  boost::intrusive::list_member_hook<> tube_hook;

  std::uint32_t& HeapSlot() { return slot; }
  std::uint64_t HeapOrder() const { return front; }
};

using WatchRing = boost::intrusive::list<
    WatchEntry,
    boost::intrusive::member_hook<WatchEntry, boost::intrusive::list_member_hook<>,
                                  &WatchEntry::tube_hook>,
    boost::intrusive::constant_time_size<true>>;

// The tubes a consumer takes jobs from, in the order in which they were added; removing one moves
// the last into its place, as beanstalkd does. Finding one is O(1) also for thousands.
class WatchList {
 public:
  // Above this many tubes a wait is kept in one place instead of in every tube.
  static constexpr std::size_t kWide = 16;

  std::size_t size() const { return watches_.size(); }
  bool empty() const { return watches_.empty(); }
  bool wide() const { return watches_.size() > kWide; }
  auto begin() const { return watches_.begin(); }
  auto end() const { return watches_.end(); }

  WatchEntry* Find(const Tube& tube) const;
  // `tube` must not be watched yet.
  WatchEntry& Add(Tube& tube, Consumer& consumer);
  void Remove(WatchEntry& watch);

 private:
  boost::container::small_vector<std::unique_ptr<WatchEntry>, 1> watches_;
  absl::flat_hash_map<const Tube*, std::uint32_t> index_;  // filled only while wide
};

}  // namespace gearstalk
