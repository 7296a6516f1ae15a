#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "broker/base/clock.h"
#include "broker/engine/job.h"

namespace gearstalk {

class Consumer;

// Somebody needs the body of a job, which may be in the journal alone: Bodies::Bring brings it into
// memory, where it stays as long as the wait lives or until Drop. Destroying it ends the wait.
class BodyWait : public boost::intrusive::list_base_hook<
                     boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  enum class State : std::uint8_t { kNone, kComing, kHere, kDamaged };

  BodyWait() = default;
  BodyWait(const BodyWait&) = delete;
  BodyWait& operator=(const BodyWait&) = delete;
  virtual ~BodyWait() = default;

  State state() const { return state_; }
  bool coming() const { return state_ == State::kComing; }
  // The job whose body was asked for last. It may have left the engine meanwhile.
  Job* job() const { return job_.get(); }
  void Drop() {
    unlink();
    job_.reset();
    state_ = State::kNone;
  }

 private:
  friend class Bodies;
  // The body is here, or damaged. Called from inside engine calls: must not call the engine back.
  virtual void OnBody() {}

  JobPtr job_;
  State state_ = State::kNone;
};

// How long a request of an operator waits for the disk.
inline constexpr Time kBodyPatience = 5 * kSecond;

// A put whose key is a body that the journal alone has: it is compared before it counts as equal.
// The bodies stay in memory until this is destroyed.
class Comparison final : public BodyWait {
 public:
  // Bodies with which a put is compared; with others it counts as not equal.
  static constexpr std::size_t kMost = 16;

  // `producer`, if there is one, gets OnCompared and outlives it.
  explicit Comparison(Consumer* producer) : producer_(producer) {}

  // What it waited for was read, if it could be.
  void NoteDone();
  bool IsDone(const Job& with) const;
  std::size_t done() const { return done_.size(); }

 private:
  void OnBody() override;

  Consumer* producer_;
  std::vector<JobPtr> done_;
};
using ComparisonPtr = std::unique_ptr<Comparison>;

// Whether a verb that was given this has done nothing yet: call it again with the same job when the
// comparison is no longer coming.
inline bool Waits(const ComparisonPtr& compared) {
  return compared != nullptr && compared->coming();
}
// For the verb, which begins with it.
inline bool StillWaits(ComparisonPtr* compared) {
  if (compared == nullptr || *compared == nullptr) return false;
  if (!Waits(*compared)) (*compared)->NoteDone();
  return Waits(*compared);
}

}  // namespace gearstalk
