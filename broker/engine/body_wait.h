#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>

#include "broker/engine/job.h"

namespace gearstalk {

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

}  // namespace gearstalk
