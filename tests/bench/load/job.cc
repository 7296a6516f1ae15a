#include "tests/bench/load/job.h"

#include <algorithm>

#include "tests/bench/load/clock.h"

namespace gearstalk::bench {

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

int HexValue(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

}  // namespace

int64_t JobShape::TubeOf(int64_t job, int producer, int producers) const {
  if (spread == Spread::kOwn) return tubes.count * producer / producers;
  if (spread == Spread::kRotate) return job % tubes.count;
  return std::min(job / jobs_each, tubes.count - 1);
}

int64_t JobShape::Delay(int64_t now) const {
  return due == 0 ? delay_seconds : std::max<int64_t>((due - now) / kSecond, 0);
}

std::string_view BodyMaker::Make(int64_t stamp) {
  if (body_.size() < kStampBytes) return body_;
  auto rest = static_cast<uint64_t>(stamp);
  for (size_t i = kStampBytes; i-- > 0; rest >>= 4) body_[i] = kHexDigits[rest & 15];
  return body_;
}

int64_t StampOf(std::string_view body) {
  if (body.size() < kStampBytes) return 0;
  uint64_t stamp = 0;
  for (const char digit : body.substr(0, kStampBytes)) {
    const int value = HexValue(digit);
    if (value < 0) return 0;
    stamp = stamp << 4 | static_cast<uint64_t>(value);
  }
  return static_cast<int64_t>(stamp);
}

}  // namespace gearstalk::bench
