#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "broker/base/clock.h"
#include "broker/base/wall_clock.h"

namespace gearstalk::gearman {

// The number that `text` begins with, after blanks; 0 if there is none or it is negative, the
// largest one if it does not fit. Clients send numbers as C's atoi reads them.
std::uint64_t LeadingNumber(std::string_view text);

// CAN_DO_TIMEOUT's milliseconds: at least a second, 0 (no limit) for everything that is no plain
// decimal number or does not fit. One NUL behind the number is forgiven.
Time RunLimit(std::string_view milliseconds);

// SUBMIT_JOB_EPOCH's seconds since 1970; what is no number is 0, what does not fit is kNever.
Time EpochTime(std::string_view seconds);
// When that time has come for whoever asks time(2), which is up to a tick of the kernel behind.
inline Time ByEveryClock(Time epoch) {
  constexpr Time kTick = 10 * kMillisecond;
  return epoch == 0 ? 0 : Later(epoch, kTick);
}

// A number as decimal text.
class Decimal {
 public:
  explicit Decimal(std::uint64_t value)
      : end_(std::to_chars(text_.data(), text_.data() + text_.size(), value).ptr) {}
  Decimal(const Decimal&) = delete;
  Decimal& operator=(const Decimal&) = delete;

  operator std::string_view() const {
    return {text_.data(), static_cast<std::size_t>(end_ - text_.data())};
  }

 private:
  std::array<char, 20> text_;
  const char* end_;
};

}  // namespace gearstalk::gearman
