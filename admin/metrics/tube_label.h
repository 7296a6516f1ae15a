#pragma once

#include <string>
#include <string_view>

#include "broker/engine/tube.h"

namespace gearstalk {

// What the tubes without a name of their own are called.
inline constexpr std::string_view kOtherTubes = "(other)";

// A tube's name as the value of a label, which has to be UTF-8: control bytes, backslashes and what
// is not UTF-8 become \xHH. Long names are cut and end in "\#" and a number. No two tubes get the
// same, and none kOtherTubes.
std::string TubeLabel(const Tube& tube);

}  // namespace gearstalk
