#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "admin/api/body_match.h"
#include "admin/api/filter.h"
#include "broker/engine/bodies.h"
#include "broker/engine/engine.h"

namespace gearstalk::api {

// What all walks over the jobs that a filter selects have.
class FilterWalk {
 public:
  // It waits for a body that does not come.
  bool Late(Time now) const { return brought_.Late(now); }
  // Whether there is nothing behind.
  bool ended() const { return ended_; }
  std::uint64_t scanned() const { return scanned_; }
  std::uint64_t body_bytes() const { return body_bytes_; }

 protected:
  // `bodies`: jobs that are found have their bodies in memory, unless these are damaged.
  FilterWalk(Engine& engine, Filter filter, Grant grant, bool bodies)
      : engine_(engine),
        filter_(std::move(filter)),
        grant_(std::move(grant)),
        bodies_(bodies || filter_.ReadsBody()) {}

  // kNotYet: its body is to come, or `budget` did not suffice for all of it.
  BodyMatch::Found Look(const Job& job, Time now, std::uint64_t& budget);

  Engine& engine_;
  const Filter filter_;
  const Grant grant_;
  bool ended_ = false;
  std::uint64_t scanned_ = 0;

 private:
  const bool bodies_;
  std::uint64_t body_bytes_ = 0;
  BodyMatch body_{filter_};
  BodyQuery brought_{engine_.bodies()};
};

// Finds the jobs that a filter selects, in the order of their ids, in slices. Jobs may come, go and
// change between two slices.
class JobWalk : public FilterWalk {
 public:
  static constexpr std::uint64_t kSteps = 128;            // jobs looked at in a slice
  static constexpr std::uint64_t kBodyBytes = 32 * 1024;  // of bodies read in a slice
  static constexpr std::uint64_t kRendered = 4;           // jobs written to a page in a slice

  // Where it stands; what a cursor holds.
  struct Place {
    JobId after = 0;
    JobId as_of = 0;          // later jobs are not looked at
    std::uint64_t left = 0;   // jobs of the tube that were there at the beginning and are to come
    std::uint64_t moves = 0;  // Engine::moves at the beginning
  };
  static Place Begin(const Engine& engine, const Filter& filter);

  JobWalk(Engine& engine, Filter filter, Grant grant, Place place, bool bodies)
      : FilterWalk(engine, std::move(filter), std::move(grant), bodies), place_(place) {
    // A tube that is hidden is one that is not there.
    ended_ = filter_.tube() && !grant_.Sees(*filter_.tube());
  }

  // One slice, of `most` jobs at most. `visit` is called with each match, may change the job, and
  // returns whether the slice goes on.
  void Slice(Time now, std::uint64_t most, const std::function<bool(const Job&)>& visit);

  const Place& place() const { return place_; }

 private:
  bool NoneLeft() const;

  Place place_;
};

// Finds the failed jobs that a filter selects, the latest failure first, in slices as long as those
// of JobWalk. It looks at failures alone, however many other jobs there are. A job that fails anew
// between two slices is passed over.
class FailureWalk : public FilterWalk {
 public:
  using Place = Failures::Place;

  // The failures before `place`, none older than `window_s` seconds.
  FailureWalk(Engine& engine, Filter filter, Grant grant, Place place,
              std::optional<double> window_s)
      : FilterWalk(engine, std::move(filter), std::move(grant), false),
        place_(place),
        window_s_(window_s) {}

  // One slice. `visit` is called with each match, and returns whether the walk goes on.
  void Slice(Time now, const std::function<bool(const Job&)>& visit);

 private:
  void Fetch();
  // nullptr: it is no failure of this place any more.
  const Job* JobAt(Place place) const;

  Place place_;  // the last one that was looked at
  const std::optional<double> window_s_;
  std::vector<Place> next_;  // that are to come
  std::size_t at_ = 0;       // in them
};

}  // namespace gearstalk::api
