#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace gearstalk::bench {

// Which of the tubes a job goes to.
enum class Spread {
  kOwn,     // each producer stays in a tube of its own share
  kRotate,  // one job after the other
  kBlocks,  // fill one tube, then the next
};

// A numbered family of tubes or functions; a single one has no number.
struct Tubes {
  std::string prefix = "bench";
  int64_t count = 1;

  std::string Name(int64_t index) const {
    return count == 1 ? prefix : prefix + std::to_string(index);
  }
};

// What jobs a producer makes.
struct JobShape {
  Tubes tubes;
  Spread spread = Spread::kOwn;
  int64_t jobs_each = 1;  // of a tube, with kBlocks
  size_t body_bytes = 100;
  int64_t groups = 0;  // bodies are JSON, and name one of so many customers after the other; 0: not
  bool verified = false;  // bodies say whose they are, and each byte of them is known: see Origin
  bool random_priorities = false;
  int64_t priority = 1024;  // of beanstalk, unless they are random
  std::string key_prefix;   // each job has its own unique key that starts so; empty: no keys
  int64_t delay_seconds = 0;
  int64_t due = 0;  // all jobs fall due in the second before this time of Now(); 0: see delay

  // Of the job with this number, made by the producer with that one.
  int64_t TubeOf(int64_t job, int producer, int producers) const;
  // Whole seconds from `now` until the job may run.
  int64_t Delay(int64_t now) const;
};

// Who made a job, and which of all jobs it is.
struct Origin {
  int producer = 0;
  int64_t number = 0;
};

// Bodies that carry a time stamp, if they are long enough: in their first 16 bytes, or in their
// JSON. A verified one has its origin in the next 16, and all that follows is made from these two.
class BodyMaker {
 public:
  explicit BodyMaker(const JobShape& shape);

  std::string_view Make(int64_t stamp, const Origin& origin);

 private:
  void MakeVerified(int64_t stamp, const Origin& origin);

  std::string body_;
  const int64_t groups_;
  const bool verified_;
  int64_t next_ = 0;  // group
};

inline constexpr size_t kStampBytes = 16;
inline constexpr size_t kLeastVerifiedBytes = 3 * kStampBytes;

// The stamp in a body; 0 when it has none.
int64_t StampOf(std::string_view body);
// The origin in a verified body; that of no job when it has none.
Origin OriginOf(std::string_view body);

using Random = std::minstd_rand;

}  // namespace gearstalk::bench
