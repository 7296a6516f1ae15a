#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "broker/base/clock.h"

namespace gearstalk::gearman {

// Reads a number as C's atoi does: leading blanks and anything behind the digits are ignored. 0: no
// number, or negative; the largest number if it does not fit.
std::uint64_t LeadingNumber(std::string_view text);

// Reads CAN_DO_TIMEOUT's milliseconds: at least a second; 0 (no limit) unless it is a plain decimal
// number that fits. One NUL behind the number is ignored.
Time RunLimit(std::string_view milliseconds);

// Reads SUBMIT_JOB_EPOCH's seconds since 1970; 0: not a number; kNever: it does not fit.
Time EpochTime(std::string_view seconds);
// When time(2), which is up to a kernel tick late, shows that time.
inline Time ByEveryClock(Time epoch) {
  constexpr Time kTick = 10 * kMillisecond;
  return epoch == 0 ? 0 : Later(epoch, kTick);
}

// A number as decimal text.
struct Decimal : fmt::format_int {
  using format_int::format_int;
  Decimal(const Decimal&) = delete;
  Decimal& operator=(const Decimal&) = delete;
  operator std::string_view() const { return {data(), size()}; }
};

}  // namespace gearstalk::gearman
