#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gearstalk {

// RFC 4648, section 4: with padding.
std::string ToBase64(std::string_view bytes);
// Section 5: for names in paths, without padding.
std::string ToBase64Url(std::string_view bytes);
// Either; padding may be missing. None: it is neither.
std::optional<std::string> FromBase64(std::string_view text);

}  // namespace gearstalk
