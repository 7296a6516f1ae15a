#include "proto_gearman/numbers.h"

#include <algorithm>
#include <charconv>

#include "broker/base/split.h"

namespace gearstalk::gearman {

std::uint64_t LeadingNumber(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  if (text.starts_with('+')) text.remove_prefix(1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  return error == std::errc::result_out_of_range ? UINT64_MAX : value;
}

Time RunLimit(std::string_view milliseconds) {
  if (milliseconds.ends_with('\0')) milliseconds.remove_suffix(1);
  std::int64_t value = 0;
  if (!ParseNumber(milliseconds, value) || value <= 0) return 0;
  if (value > kNever / kMillisecond) return 0;
  return std::max<std::int64_t>(value, 1000) * kMillisecond;
}

Time EpochTime(std::string_view seconds) { return After(0, LeadingNumber(seconds)); }

}  // namespace gearstalk::gearman
