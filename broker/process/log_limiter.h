#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gearstalk {

// A bucket of tokens for each kind of line: a line costs one, and the loop refills all buckets once
// a second. Kinds are few: they stand in the source.
class LogLimiter {
 public:
  static constexpr std::uint32_t kBurst = 20;
  static constexpr std::uint32_t kRefill = 2;

  // Whether one more line of this kind may be written.
  bool Admit(std::string_view kind);

  struct Suppressed {
    std::string kind;
    std::uint64_t lines;
  };
  // Refills the buckets and tells what was suppressed since the last time.
  std::vector<Suppressed> Refill();

 private:
  struct Bucket {
    std::uint32_t tokens = kBurst;
    std::uint64_t suppressed = 0;
  };
  std::map<std::string, Bucket, std::less<>> buckets_;
};

}  // namespace gearstalk
