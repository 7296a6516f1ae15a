#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gearstalk::beanstalk {

// The most bytes of a command line, CRLF included.
inline constexpr std::size_t kMaxLine = 224;
inline constexpr std::size_t kMaxTubeName = 200;

// The next line of a stream of bytes. Only CRLF ends one.
struct Line {
  enum class Kind : std::uint8_t { kWhole, kPartial, kTooLong };
  Kind kind;
  std::string_view text;  // without its CRLF; of a whole line only
};
Line NextLine(std::string_view bytes);

// How many bytes to discard of an over-long line: up to and including its CRLF, or of a part
// without one (`ended` says which).
struct Excess {
  std::size_t size;
  bool ended;
};
Excess SkipLine(std::string_view bytes);

// The arguments of a verb.
enum class Shape : std::uint8_t {
  kNone,
  kAnything,  // ignored
  kId,
  kIdPriority,
  kIdPriorityDelay,
  kTube,
  kTubeDelay,  // the name is only split off: blanks before it, bytes of the tube alphabet
  kPut,        // priority, delay, TTR, body size; more may follow (`tail`)
  kBound,      // as strtoul reads it: signs, a tail, the lower 32 bits
  kTimeout,    // 0 .. 2^31-1, a tail is ignored
};

struct Arguments {
  std::string_view tube;
  std::uint64_t id = 0;
  std::uint32_t priority = 0;
  std::uint32_t delay_s = 0;
  std::uint32_t ttr_s = 0;
  std::uint32_t body_size = 0;
  std::uint32_t bound = 0;
  std::uint32_t timeout_s = 0;
  bool tail = false;
};

// Whether `text` has this shape; fills in the arguments of it. Numbers are decimal, may begin with
// spaces and zeros, and must fit.
bool ParseArguments(Shape shape, std::string_view text, Arguments& arguments);

// 1 to 200 bytes of beanstalk's alphabet, not beginning with '-'.
bool IsTubeName(std::string_view name);

}  // namespace gearstalk::beanstalk
