#include "broker/engine/job_observer.h"

#include <xxhash.h>

#include <array>
#include <string>

#include "broker/engine/slab.h"

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

Waiter* Waiters::Find(const Job& job, const JobObserver& observer) const {
  return index_.Find(Hash(job, observer), [&](const Waiter& waiter) {
    return &waiter.job == &job && &waiter.observer == &observer;
  });
}

// From the index.
void Waiters::Remove(Waiter& waiter) {
  if (!waiter.indexed) return;
  waiter.indexed = false;
  index_.Remove(Hash(waiter.job, waiter.observer), waiter);
}

void Waiters::Add(Job& job, JobObserver& observer) {
  WaiterList<ByJob>& waiters = job.MakeRest().waiters;
  job.abandoned = false;
  const bool first = waiters.empty();
  if (!first) {
    Waiter* const known =
        &waiters.front().observer == &observer ? &waiters.front() : Find(job, observer);
    if (known != nullptr) {
      ++known->times;
      return;
    }
  }
  auto* const waiter = new Waiter(job, observer);
  if (!first) {
    waiter->indexed = true;
    index_.Insert(Hash(job, observer), *waiter);
  }
  waiters.push_back(*waiter);
  observer.waits_.push_back(*waiter);
}

Job& Waiters::EndFirst(JobObserver& observer) {
  Waiter& waiter = observer.waits_.front();
  Job& job = waiter.job;
  observer.waits_.pop_front();
  WaiterList<ByJob>& others = job.OwnRest()->waiters;
  others.erase(others.iterator_to(waiter));
  Remove(waiter);
  delete &waiter;
  return job;
}

void Waiters::Drop(Job& job) {
  if (job.OwnRest() == nullptr) return;
  job.OwnRest()->waiters.clear_and_dispose([this](Waiter* waiter) {
    Remove(*waiter);
    WaiterList<ByObserver>& others = waiter->observer.waits_;
    others.erase(others.iterator_to(*waiter));
    delete waiter;
  });
}

void Waiters::Tell(const Job& job, const Progress& progress) const {
  for (const Waiter& waiter : job.rest().waiters) {
    ++effort_;
    waiter.observer.OnProgress(job, progress, waiter.times);
  }
}

void Waiters::TellAll(Job& job, Finish::Kind kind, const ReportData& data, Lsn lsn) {
  const Finish finish{kind, data, lsn};
  for (Waiter& waiter : job.OwnRest()->waiters) {
    ++effort_;
    waiter.observer.OnFinished(job, finish, waiter.times);
  }
  Drop(job);
}

std::size_t Waiters::Count(const Job& job) const {
  std::size_t waiters = 0;
  for (const Waiter& waiter : job.rest().waiters) {
    ++effort_;
    waiters += waiter.times;
  }
  return waiters;
}

}  // namespace gearstalk
