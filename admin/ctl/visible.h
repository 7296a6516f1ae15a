#pragma once

#include <string>
#include <string_view>

namespace gearstalk::ctl {

// The text without control characters and marks that change the direction of writing: these are
// written as escapes, so that no name can change a terminal.
std::string Visible(std::string_view text);

}  // namespace gearstalk::ctl
