#pragma once

#include <string>
#include <string_view>

#include "broker/base/utf8.h"

namespace gearstalk::ctl {

std::string ToBase64(std::string_view bytes);
// False: it is no base64.
bool FromBase64(std::string_view text, std::string& bytes);

}  // namespace gearstalk::ctl
