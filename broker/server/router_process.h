#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "broker/base/status.h"
#include "broker/link/link_end.h"

namespace gearstalk {

// The first argument of a router's process; its number and that of its listeners follow.
inline constexpr const char* kRouterArgument = "--as-router";
// Where a router finds its end of the link, and its listeners from the last of these on.
inline constexpr int kRouterSocket = 3, kRouterMemory = 4, kRouterListeners = 5;

struct RouterProcess {
  pid_t pid;
  link::LinkEnd link;
};

// Starts this program again, as a router.
Result<RouterProcess> StartRouter(std::size_t number, const std::vector<int>& listeners);

}  // namespace gearstalk
