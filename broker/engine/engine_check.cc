// What must always be true, recounted from the jobs up. For tests.

#include <fmt/format.h>

#include <map>
#include <set>

#include "broker/engine/engine.h"

namespace gearstalk {
namespace {

struct Counted {
  std::size_t ready = 0, reserved = 0, delayed = 0, buried = 0;
  std::size_t bands[3] = {0, 0, 0};
  std::size_t urgent = 0;
  std::size_t watching = 0, wide_watching = 0, in_line = 0, promised = 0;
};

}  // namespace

std::string Engine::CheckInvariants(const std::vector<const Consumer*>& consumers) const {
  std::map<const Tube*, Counted> counted;
  EngineStats sum;
  std::size_t keys = 0;
  for (const Job* job = jobs_.Next(0); job != nullptr; job = jobs_.Next(job->id())) {
    Counted& tube = counted[job->tube_];
    switch (job->state_) {
      case JobState::kReady:
        ++tube.ready;
        ++tube.bands[static_cast<std::size_t>(BandOf(job->priority))];
        tube.urgent += job->priority < kNormalFrom;
        sum.urgent += job->priority < kNormalFrom;
        if (MoreUrgent(*job, *job->tube_->ready_.front())) {
          return fmt::format("job {} is more urgent than the front of its tube", job->id());
        }
        break;
      case JobState::kReserved:
        ++tube.reserved;
        if (job->holder()->held_.At(job->link_.held.slot) != job) {
          return fmt::format("job {} is not with its holder", job->id());
        }
        break;
      case JobState::kDelayed:
        ++tube.delayed;
        ++tube.bands[static_cast<std::size_t>(BandOf(job->priority))];
        if (job->tube_->delayed_.At(job->link_.held.slot) != job) {
          return fmt::format("job {} is not where its tube delays it", job->id());
        }
        break;
      case JobState::kBuried:
        ++tube.buried;
        break;
      case JobState::kGone:
        return fmt::format("job {} is in the table but gone", job->id());
    }
    if (job->unique_size_ > 0) {
      ++keys;
      if (job->state_ != JobState::kBuried &&
          !uniques_.Find(*job->tube_, UniqueIndex::KeyOf(*job), job->unique_is_body_)) {
        return fmt::format("job {} is not found by its key", job->id());
      }
    }
  }
  if (keys != uniques_.size()) return fmt::format("{} keys, {} indexed", keys, uniques_.size());

  std::size_t waiting = 0;
  for (const Consumer* consumer : consumers) {
    waiting += consumer->waiting();
    for (const auto& watch : consumer->watched_) {
      Counted& tube = counted[&watch->tube];
      ++tube.watching;
      tube.wide_watching += consumer->watched_.wide();
      tube.in_line += consumer->waiting() && !consumer->watched_.wide();
      if (consumer->waiting() && Runnable(watch->tube) &&
          watch->tube.ready() > watch->tube.promised_) {
        return fmt::format("a consumer waits while tube {} has a job", watch->tube.name());
      }
    }
    if (consumer->promised_ != nullptr) ++counted[consumer->promised_].promised;
  }
  if (waiting != totals_.waiting) return fmt::format("{} wait, not {}", waiting, totals_.waiting);

  for (const Tube* tube = tubes_.Next(0); tube != nullptr; tube = tubes_.Next(tube->id())) {
    const Counted& is = counted[tube];
    const bool same = is.ready == tube->ready() && is.reserved == tube->reserved() &&
                      is.delayed == tube->delayed() && is.buried == tube->buried() &&
                      is.bands[0] == tube->queued(Band::kHigh) &&
                      is.bands[1] == tube->queued(Band::kNormal) &&
                      is.bands[2] == tube->queued(Band::kLow) && is.urgent == tube->urgent() &&
                      is.watching == tube->watching() &&
                      is.wide_watching == tube->wide_watching_ &&
                      is.in_line == tube->line_.size() && is.promised == tube->promised_;
    if (!same) return fmt::format("tube {} counts wrong", tube->name());
    if ((is.ready > 0) !=
        (tube->stirred_slot_ < stirred_.size() && stirred_[tube->stirred_slot_] == tube)) {
      return fmt::format("tube {} is among those with ready jobs by mistake", tube->name());
    }
    const bool needed = is.ready + is.reserved + is.delayed + is.buried + is.watching > 0 ||
                        tube->using_ > 0 || tube->permanent_ || tube->created_function_ ||
                        Limited(*tube);
    if (!needed) return fmt::format("tube {} should be gone", tube->name());
    sum.ready += is.ready;
    sum.reserved += is.reserved;
    sum.delayed += is.delayed;
    sum.buried += is.buried;
  }
  const bool same = sum.urgent == totals_.urgent && sum.ready == totals_.ready &&
                    sum.reserved == totals_.reserved && sum.delayed == totals_.delayed &&
                    sum.buried == totals_.buried;
  return same ? "" : "the totals count wrong";
}

}  // namespace gearstalk
