#pragma once

#include <cstdint>
#include <filesystem>

namespace gearstalk {

// Bytes that this process may use: the least of the machine's memory, the resource limits (ulimit
// -v and -d), and the limits of its control groups (version 1 or 2) and of those around them.
std::uint64_t MachineMemory(const std::filesystem::path& groups_of_process = "/proc/self/cgroup",
                            const std::filesystem::path& groups = "/sys/fs/cgroup");

}  // namespace gearstalk
