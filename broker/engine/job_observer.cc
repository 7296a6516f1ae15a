#include "broker/engine/job_observer.h"

#include <array>
#include <string>

#include "broker/engine/slab.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace gearstalk {
namespace {

class KeptText {
 public:
  explicit KeptText(std::string_view text) : text_(text), view_(text_) {
    CountJobMemory(static_cast<std::ptrdiff_t>(text_.size()));
  }
  ~KeptText() { CountJobMemory(-static_cast<std::ptrdiff_t>(text_.size())); }
  KeptText(const KeptText&) = delete;
  KeptText& operator=(const KeptText&) = delete;

  const std::string_view& view() const { return view_; }

 private:
  const std::string text_;
  const std::string_view view_;
};

std::uint64_t Hash(const Job& job, const JobObserver& observer) {
  const std::array<const void*, 2> pair{&job, &observer};
  return XXH3_64bits_withSeed(pair.data(), sizeof pair, HashSeed());
}

}  // namespace

const std::shared_ptr<const void>& ReportData::Keep() const {
  if (owner_ == nullptr) {
    const std::shared_ptr<const std::string_view> kept = KeepText(bytes_);
    bytes_ = *kept;
    owner_ = kept;
  }
  return owner_;
}

std::shared_ptr<const std::string_view> KeepText(std::string_view text) {
  auto kept = std::make_shared<const KeptText>(text);
  return {kept, &kept->view()};
}

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
