#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace gearstalk {

// What this process may use of the machine: the least of what the system lets it have, and the
// limits of its control groups (version 1 or 2) and of those around them.

// Bytes, also within the resource limits (ulimit -v and -d).
std::uint64_t MachineMemory(const std::filesystem::path& groups_of_process = "/proc/self/cgroup",
                            const std::filesystem::path& groups = "/sys/fs/cgroup");
// CPUs of its affinity, and quotas rounded up; at least 1.
std::size_t MachineCpus(const std::filesystem::path& groups_of_process = "/proc/self/cgroup",
                        const std::filesystem::path& groups = "/sys/fs/cgroup");

}  // namespace gearstalk
