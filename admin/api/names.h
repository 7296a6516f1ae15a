#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gearstalk::api {

// A tube's name as it stands in a path: percent-encoded, or "~" and its bytes in base64url where a
// proxy might rewrite the first form.
std::string RefOf(std::string_view name);
// The name that either form stands for; nothing: it is none of them.
std::optional<std::string> NameOfRef(std::string_view ref);

}  // namespace gearstalk::api
