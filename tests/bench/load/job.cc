#include "tests/bench/load/job.h"

#include <algorithm>

#include "tests/bench/load/clock.h"
#include "tests/bench/load/fail.h"

namespace gearstalk::bench {

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

constexpr std::string_view kGrouped =
    R"({"customer":"00000000","stamp":"0000000000000000","rest":")";
constexpr std::string_view kGroupedEnd = R"("})";
constexpr size_t kGroupAt = 13, kGroupDigits = 8, kGroupedStampAt = 32;

void WriteHex(char* out, size_t digits, uint64_t value) {
  for (size_t i = digits; i-- > 0; value >>= 4) out[i] = kHexDigits[value & 15];
}

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

BodyMaker::BodyMaker(size_t bytes, int64_t groups) : body_(bytes, 'x'), groups_(groups) {
  if (groups_ == 0) return;
  if (body_.size() < kGrouped.size() + kGroupedEnd.size()) Fail("--groups: needs a longer --body");
  body_.replace(0, kGrouped.size(), kGrouped);
  body_.replace(body_.size() - kGroupedEnd.size(), kGroupedEnd.size(), kGroupedEnd);
}

std::string_view BodyMaker::Make(int64_t stamp) {
  if (groups_ > 0) {
    WriteHex(&body_[kGroupAt], kGroupDigits, static_cast<uint64_t>(next_));
    next_ = (next_ + 1) % groups_;
  }
  const size_t at = groups_ > 0 ? kGroupedStampAt : 0;
  if (body_.size() >= at + kStampBytes)
    WriteHex(&body_[at], kStampBytes, static_cast<uint64_t>(stamp));
  return body_;
}

int64_t StampOf(std::string_view body) {
  const size_t at = body.starts_with(kGrouped.substr(0, kGroupAt)) ? kGroupedStampAt : 0;
  if (body.size() < at + kStampBytes) return 0;
  uint64_t stamp = 0;
  for (const char digit : body.substr(at, kStampBytes)) {
    const int value = HexValue(digit);
    if (value < 0) return 0;
    stamp = stamp << 4 | static_cast<uint64_t>(value);
  }
  return static_cast<int64_t>(stamp);
}

}  // namespace gearstalk::bench
