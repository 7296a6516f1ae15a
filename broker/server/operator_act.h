#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "broker/base/status.h"

namespace gearstalk {

// What an operator did, or was refused, over a client's protocol. Valid during the call that
// reports it.
struct OperatorAct {
  std::string_view action;  // as the API calls it: "job.kick"
  std::string_view tube{};
  std::uint64_t job = 0;  // 0: none
  std::optional<std::uint64_t> count{};
  // What else it is about: "schedule", and its name; "policy", and its key.
  std::string_view subject{};
  std::string_view name{};
  std::string_view result = "ok";  // or why not, in the API's word
};

// The API's word for how an act ended.
std::string_view ResultOf(Code code);

}  // namespace gearstalk
