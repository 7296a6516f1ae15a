#include "broker/engine/waiter_index.h"

#include <array>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace gearstalk {
namespace {

std::uint64_t Hash(const Job& job, const JobObserver& observer) {
  const std::array<const void*, 2> pair{&job, &observer};
  return XXH3_64bits_withSeed(pair.data(), sizeof pair, HashSeed());
}

}  // namespace

Waiter* WaiterIndex::Find(const Job& job, const JobObserver& observer) const {
  return waiters_.Find(Hash(job, observer), [&](const Waiter& waiter) {
    return &waiter.job == &job && &waiter.observer == &observer;
  });
}

void WaiterIndex::Insert(Waiter& waiter) {
  waiter.indexed = true;
  waiters_.Insert(Hash(waiter.job, waiter.observer), waiter);
}

void WaiterIndex::Remove(Waiter& waiter) {
  if (!waiter.indexed) return;
  waiter.indexed = false;
  waiters_.Remove(Hash(waiter.job, waiter.observer), waiter);
}

}  // namespace gearstalk
