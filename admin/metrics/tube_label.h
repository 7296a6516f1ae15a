#pragma once

#include <string>
#include <string_view>

#include "broker/engine/tube.h"

namespace gearstalk {

// The label of tubes without metrics of their own.
inline constexpr std::string_view kOtherTubes = "(other)";

// A tube's name as the value of a label, which has to be UTF-8: control bytes, backslashes and
// invalid UTF-8 become \xHH. Long names are cut and end in "\#" and a number. The labels of two
// tubes differ, and none is kOtherTubes.
std::string TubeLabel(const Tube& tube);

}  // namespace gearstalk
