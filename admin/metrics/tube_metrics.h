#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admin/http/answer.h"
#include "broker/engine/engine.h"
#include "broker/engine/tube.h"

namespace gearstalk {

// The label of tubes without metrics of their own.
inline constexpr std::string_view kOtherTubes = "(other)";

// A tube's name as the value of a label, which has to be UTF-8: control bytes, backslashes and
// invalid UTF-8 become \xHH. Long names are cut and end in "\#" and a number. The labels of two
// tubes differ, and none is kOtherTubes.
std::string TubeLabel(const Tube& tube);

// A number that each tube has now. JobCounters are those that only rise.
struct TubeGauge {
  std::string_view name, help;
  // Nothing: the tube has none. nullptr: the family has no single number for a tube.
  std::optional<double> (*value)(const Tube& tube, Time now) = nullptr;
  // What the API calls it, where it is a whole number that time alone does not change; empty: none.
  std::string_view member = {};
};
std::span<const TubeGauge> TubeGauges();
// The number of a gauge that has a member.
inline std::uint64_t NumberOf(const TubeGauge& gauge, const Tube& tube) {
  return static_cast<std::uint64_t>(gauge.value(tube, 0).value_or(0));
}

// The numbers of tubes, family by family, in slices of tubes: of the tubes `named`, by id, with the
// jobs of all others in one sum; of all tubes without it.
HttpBody ReadTubes(const Engine& engine, Time now, std::optional<std::vector<std::uint64_t>> named);

}  // namespace gearstalk
