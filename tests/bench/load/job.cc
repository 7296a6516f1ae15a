#include "tests/bench/load/job.h"

#include <algorithm>
#include <cstring>

#include "tests/bench/load/clock.h"
#include "tests/bench/load/fail.h"

namespace gearstalk::bench {

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

constexpr std::string_view kGrouped =
    R"({"customer":"00000000","stamp":"0000000000000000","rest":")";
constexpr std::string_view kGroupedEnd = R"("})";
constexpr size_t kGroupAt = 13, kGroupDigits = 8, kGroupedStampAt = 32;

constexpr int kNumberBits = 48;  // of an origin; the producer is above them

void WriteHex(char* out, size_t digits, uint64_t value) {
  for (size_t i = digits; i-- > 0; value >>= 4) out[i] = kHexDigits[value & 15];
}

int HexValue(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

// The number that so many digits are; 0 when they are something else.
uint64_t ReadHex(std::string_view digits) {
  uint64_t number = 0;
  for (const char digit : digits) {
    const int value = HexValue(digit);
    if (value < 0) return 0;
    number = number << 4 | static_cast<uint64_t>(value);
  }
  return number;
}

// The last step of SplitMix64: each bit of the number changes half of those of the result.
uint64_t Mixed(uint64_t number) {
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
  number = (number ^ number >> 27) * 0x94d049bb133111eb;
  return number ^ number >> 31;
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

BodyMaker::BodyMaker(const JobShape& shape)
    : body_(shape.body_bytes, 'x'), groups_(shape.groups), verified_(shape.verified) {
  if (verified_ && body_.size() < kLeastVerifiedBytes) Fail("--verify: needs a longer --body");
  if (groups_ == 0) return;
  if (body_.size() < kGrouped.size() + kGroupedEnd.size()) Fail("--groups: needs a longer --body");
  body_.replace(0, kGrouped.size(), kGrouped);
  body_.replace(body_.size() - kGroupedEnd.size(), kGroupedEnd.size(), kGroupedEnd);
}

std::string_view BodyMaker::Make(int64_t stamp, const Origin& origin) {
  if (verified_) MakeVerified(stamp, origin);
  if (groups_ > 0) {
    WriteHex(&body_[kGroupAt], kGroupDigits, static_cast<uint64_t>(next_));
    next_ = (next_ + 1) % groups_;
  }
  const size_t at = groups_ > 0 ? kGroupedStampAt : 0;
  if (body_.size() >= at + kStampBytes)
    WriteHex(&body_[at], kStampBytes, static_cast<uint64_t>(stamp));
  return body_;
}

void BodyMaker::MakeVerified(int64_t stamp, const Origin& origin) {
  const uint64_t whose =
      static_cast<uint64_t>(origin.producer) << kNumberBits | static_cast<uint64_t>(origin.number);
  WriteHex(&body_[kStampBytes], kStampBytes, whose);
  uint64_t seed = Mixed(static_cast<uint64_t>(stamp) ^ Mixed(whose));
  for (size_t at = 2 * kStampBytes; at < body_.size(); at += sizeof seed) {
    const uint64_t word = Mixed(++seed);
    std::memcpy(&body_[at], &word, std::min(sizeof word, body_.size() - at));
  }
}

int64_t StampOf(std::string_view body) {
  const size_t at = body.starts_with(kGrouped.substr(0, kGroupAt)) ? kGroupedStampAt : 0;
  if (body.size() < at + kStampBytes) return 0;
  return static_cast<int64_t>(ReadHex(body.substr(at, kStampBytes)));
}

Origin OriginOf(std::string_view body) {
  if (body.size() < kLeastVerifiedBytes) return {};
  const uint64_t whose = ReadHex(body.substr(kStampBytes, kStampBytes));
  return {.producer = static_cast<int>(whose >> kNumberBits),
          .number = static_cast<int64_t>(whose & ((uint64_t{1} << kNumberBits) - 1))};
}

}  // namespace gearstalk::bench
