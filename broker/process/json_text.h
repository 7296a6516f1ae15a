#pragma once

#include <string>
#include <string_view>

namespace gearstalk {

// Appends `text` as a JSON string with its quotes, on one line and in ASCII's printable range or
// valid UTF-8: what is no UTF-8 becomes U+FFFD, byte by byte.
void AppendJsonText(std::string& out, std::string_view text);

}  // namespace gearstalk
