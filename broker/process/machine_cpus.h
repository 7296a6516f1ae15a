#pragma once

#include <cstddef>
#include <filesystem>

namespace gearstalk {

// CPUs that this process may use, at least 1: the least of its affinity and of the quotas of its
// control groups (version 1 or 2) and of those around them, rounded up.
std::size_t MachineCpus(const std::filesystem::path& groups_of_process = "/proc/self/cgroup",
                        const std::filesystem::path& groups = "/sys/fs/cgroup");

}  // namespace gearstalk
