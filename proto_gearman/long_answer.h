#pragma once

namespace gearstalk::gearman {

class GearmanSession;

// What a message asks for, done in slices, so that it delays nobody else for long.
class LongAnswer {
 public:
  virtual ~LongAnswer() = default;
  // Does one slice; the last one writes the answer, if there is any, and returns true.
  virtual bool Advance(GearmanSession& session) = 0;
};

}  // namespace gearstalk::gearman
