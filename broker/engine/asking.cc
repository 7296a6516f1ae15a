#include "broker/engine/asking.h"

#include <algorithm>

namespace gearstalk {

EngineStats Asking::Stats() const {
  EngineStats stats = store_.totals;
  stats.tubes = store_.tubes.size();
  stats.remembered_keys = store_.seen.size();
  stats.bodies = store_.bodies.counts();
  return stats;
}

const Job* Asking::FindUnique(std::string_view unique, std::uint64_t& last) const {
  for (std::size_t tubes = 0; tubes < JobStore::kSlice; ++tubes) {
    const Tube* const tube = store_.tubes.Next(last);
    last = tube == nullptr ? 0 : tube->id();
    if (tube == nullptr) break;
    ++store_.effort;
    if (const Job* job = store_.uniques.Find(*tube, unique)) return job;
  }
  return nullptr;
}

Time Asking::TimeLeft(Time now, const Job& job) {
  Time end = kNever;
  if (job.state() == JobState::kDelayed) end = job.tube().DueOf(job);
  if (job.state() == JobState::kReserved) end = job.holder()->held_jobs().TimeAt(job.HeapSlot());
  return end == kNever ? 0 : std::max<Time>(end - now, 0);
}

Time Asking::PauseLeft(Time now, const Tube& tube) {
  return tube.paused() ? std::max<Time>(tube.settings.pause_until - now, 0) : 0;
}

bool Asking::Listed(const Tube& tube) const {
  return tube.unfinished() > 0 || tube.buried() > 0 || tube.function ||
         tube.settings.created_function || Waiting(tube) > 0;
}

}  // namespace gearstalk
