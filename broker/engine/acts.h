#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "broker/base/clock.h"
#include "broker/base/lsn.h"
#include "broker/engine/bodies.h"
#include "broker/engine/job.h"
#include "broker/engine/outcome.h"

namespace gearstalk {

class Engine;

// What operators do to jobs that they neither put nor hold. Part of the engine.
class Acts {
 public:
  explicit Acts(Engine& engine) : engine_(engine) {}

  // As Engine::Put, without a consumer. A job with the same unique key is joined, as by Submit.
  // kInvalid: the tube is one that takes answers.
  Added PutInto(Time now, std::string_view tube, JobPtr&& job, ComparisonPtr* compared = nullptr);
  // As the kick of a consumer, into the tube named. kNotFound: there is no such tube.
  Kicked Kick(Time now, std::string_view tube, std::uint64_t bound, std::optional<KickFrom>& from);
  // Puts a job that nobody holds into another tube. Id, counters, state and due time stay; a buried
  // one becomes the last of the buried ones there. kNotFound also for a reserved job.
  Outcome Move(Time now, JobId id, std::string_view tube);
  // Buries a ready or a delayed job, with `force` also a reserved one. kNotFound for all others.
  Outcome Bury(JobId id, std::optional<std::uint32_t> priority, bool force);
  // Takes a reserved job from its holder, as a release that counts no attempt: the holder's next
  // word about it finds nothing, as after its TTR. kNotFound for all others.
  Outcome TakeBack(Time now, JobId id, std::uint32_t delay_s);
  // The limit that the configuration gives; kNotFound: there is no such tube.
  Outcome ResetMaxQueue(std::string_view tube);

 private:
  Lsn AppendWhole(const Job& job);

  Engine& engine_;
};

}  // namespace gearstalk
