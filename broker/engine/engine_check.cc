// What must always be true, recounted from the jobs up. For tests.

#include <fmt/format.h>

#include <map>

#include "broker/engine/engine.h"

namespace gearstalk {
namespace {

struct Counted {
  std::size_t ready = 0, reserved = 0, delayed = 0, buried = 0, buried_lately = 0;
  std::size_t bands[3] = {0, 0, 0};
  std::size_t urgent = 0;
  std::size_t watching = 0, wide_watching = 0, in_line = 0, promised = 0;
};

}  // namespace

// One recount. Each part returns the first difference it finds, or "".
class JobStore::Audit {
 public:
  explicit Audit(const JobStore& store) : store_(store) {}

  std::string Jobs() {
    const auto& jobs = store_.jobs;
    std::size_t keys = 0, failed = 0;
    for (const Job* job = jobs.Next(0); job != nullptr; job = jobs.Next(job->id())) {
      if (std::string wrong = State(*job); !wrong.empty()) return wrong;
      failed += Failed(*job);
      if (!UniqueIndex::HasKey(*job) || job->state_ == JobState::kBuried) continue;
      if (job->extra().key_free) continue;
      ++keys;
      const Job* const first =
          store_.uniques.Find(job->tube(), UniqueIndex::KeyOf(*job), job->unique_is_body);
      if (first == nullptr) return fmt::format("job {} is not found by its key", job->id());
      if (first->id() > job->id()) {
        return fmt::format("job {} is found by the key of job {}", first->id(), job->id());
      }
    }
    if (keys != store_.uniques.size()) {
      return fmt::format("{} keys, {} indexed", keys, store_.uniques.size());
    }
    if (std::string wrong = store_.bodies.Check(); !wrong.empty()) return wrong;
    if (failed == store_.failures.size()) return store_.failures.Check();
    return fmt::format("{} jobs failed, {} indexed", failed, store_.failures.size());
  }

  std::string Consumers(const std::vector<const Consumer*>& consumers) {
    std::size_t waiting = 0;
    for (const Consumer* consumer : consumers) {
      waiting += consumer->waiting();
      for (const auto& watch : consumer->watched()) {
        Counted& tube = counted_[&watch->tube];
        ++tube.watching;
        tube.wide_watching += consumer->watched().wide();
        tube.in_line += consumer->waiting() && !consumer->watched().wide();
        const Groups* const groups = watch->tube.groups();
        if (consumer->waiting() && groups != nullptr && !watch->tube.Stopped() &&
            groups->gives() > watch->tube.promised &&
            store_.pace.Places(store_.ticked, watch->tube) > watch->tube.promised) {
          return fmt::format("a consumer waits while a group of tube {} gives a job",
                             watch->tube.name());
        }
        if (consumer->waiting() && Dispatch::Runnable(watch->tube) &&
            watch->tube.policy() == nullptr && watch->tube.ready() > watch->tube.promised) {
          return fmt::format("a consumer waits while tube {} has a job", watch->tube.name());
        }
      }
      if (consumer->promised() != nullptr) ++counted_[consumer->promised()].promised;
    }
    if (waiting == store_.totals.waiting) return "";
    return fmt::format("{} wait, not {}", waiting, store_.totals.waiting);
  }

  // After Jobs and Consumers.
  std::string Tubes() {
    const auto& tubes = store_.tubes;
    for (const Tube* tube = tubes.Next(0); tube != nullptr; tube = tubes.Next(tube->id())) {
      const Counted& is = counted_[tube];
      if (!Same(is, *tube)) return fmt::format("tube {} counts wrong", tube->name());
      if (tube->groups_ != nullptr) {
        if (std::string wrong = tube->groups_->Check(); !wrong.empty()) return wrong;
      }
      if ((is.ready > 0) != store_.ready.Has(*tube)) {
        return fmt::format("tube {} is among those with ready jobs by mistake", tube->name());
      }
      const bool needed =
          is.ready + is.reserved + is.delayed + is.buried + is.watching > 0 ||
          tube->using_count > 0 || tube->permanent_ || tube->settings.created_function ||
          tube->settings.max_queue != store_.ConfiguredMaxQueue(*tube) ||
          TubePolicies::Keeps(*tube) || (tube->groups_ != nullptr && !tube->groups_->empty());
      if (!needed) return fmt::format("tube {} should be gone", tube->name());
      sum_.ready += is.ready;
      sum_.reserved += is.reserved;
      sum_.delayed += is.delayed;
      sum_.buried += is.buried;
      sum_.urgent += is.urgent;
    }
    const EngineStats& totals = store_.totals;
    const bool same = sum_.urgent == totals.urgent && sum_.ready == totals.ready &&
                      sum_.reserved == totals.reserved && sum_.delayed == totals.delayed &&
                      sum_.buried == totals.buried && sum_.dead == totals.dead;
    return same ? "" : "the totals count wrong";
  }

 private:
  std::string State(const Job& job) {
    Counted& tube = counted_[&job.tube()];
    switch (job.state_) {
      case JobState::kReady:
        ++tube.ready;
        ++tube.bands[static_cast<std::size_t>(store_.BandOf(job.priority))];
        tube.urgent += job.priority < kNormalFrom;
        if (Grouping::IsGrouped(job)) return "";
        if (!MoreUrgent(job, *job.tube().ready_.front())) return "";
        return fmt::format("job {} is more urgent than the front of its tube", job.id());
      case JobState::kReserved:
        ++tube.reserved;
        if (job.holder()->held_jobs().At(job.HeapSlot()) == &job) return "";
        return fmt::format("job {} is not with its holder", job.id());
      case JobState::kDelayed:
        ++tube.delayed;
        ++tube.bands[static_cast<std::size_t>(store_.BandOf(job.priority))];
        if (job.tube().delayed_.At(job.HeapSlot()) == &job) return "";
        return fmt::format("job {} is not where its tube delays it", job.id());
      case JobState::kBuried:
        ++tube.buried;
        tube.buried_lately += store_.failures.IsLate(job);
        sum_.dead += !job.origin().empty();
        return "";
      case JobState::kGone:
        break;
    }
    return fmt::format("job {} is in the table but gone", job.id());
  }

  static bool Same(const Counted& is, const Tube& tube) {
    return is.ready == tube.ready() && is.reserved == tube.reserved() &&
           is.delayed == tube.delayed() && is.buried == tube.buried() &&
           is.buried_lately == tube.buried_lately && is.bands[0] == tube.queued(Band::kHigh) &&
           is.bands[1] == tube.queued(Band::kNormal) && is.bands[2] == tube.queued(Band::kLow) &&
           is.urgent == tube.urgent() && is.watching == tube.watching &&
           is.wide_watching == tube.wide.size() && is.in_line == tube.line.size() &&
           is.promised == tube.promised;
  }

  const JobStore& store_;
  std::map<const Tube*, Counted> counted_;
  EngineStats sum_;
};

std::string Engine::CheckInvariants(const std::vector<const Consumer*>& consumers) const {
  JobStore::Audit audit(store);
  std::string wrong = audit.Jobs();
  if (wrong.empty()) wrong = audit.Consumers(consumers);
  if (wrong.empty()) wrong = audit.Tubes();
  if (wrong.empty()) wrong = transfers_.Check();
  return wrong;
}

}  // namespace gearstalk
