#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "broker/base/status.h"

namespace gearstalk {

// The first argument of a router's process; its number and that of its listeners follow.
inline constexpr const char* kRouterArgument = "--as-router";
// Where a router finds its link; its listeners follow.
inline constexpr int kRouterLink = 3;

struct RouterProcess {
  pid_t pid;
  int link;  // the broker's end, non-blocking
};

// Starts this program again, as a router.
Result<RouterProcess> StartRouter(std::size_t number, const std::vector<int>& listeners);

}  // namespace gearstalk
