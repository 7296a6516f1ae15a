#pragma once

#include <cstddef>

namespace gearstalk {

// A request that is answered in slices, so that it does not delay other connections.
template <typename Session>
class LongAnswer {
 public:
  static constexpr std::size_t kSlice = 512;  // jobs or tubes

  virtual ~LongAnswer() = default;
  // Does one slice; the last one writes the answer, if there is any, and returns true.
  virtual bool Advance(Session& session) = 0;
};

}  // namespace gearstalk
