#pragma once

#include <string>

namespace gearstalk {

// The body of an answer that is made in slices, at most one in a round of the loop.
class HttpBody {
 public:
  virtual ~HttpBody() = default;
  // Appends the next slice to `out`, which may be nothing. False: that was the last.
  virtual bool Advance(std::string& out) = 0;
};

}  // namespace gearstalk
