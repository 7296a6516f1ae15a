#pragma once

#include <cstdint>
#include <filesystem>

namespace gearstalk {

// Bytes that this process may use: what the machine has, or less if a resource limit (ulimit -v or
// -d) or a control group, of version 1 or 2, limits it or one that it is in.
std::uint64_t MachineMemory(const std::filesystem::path& groups_of_process = "/proc/self/cgroup",
                            const std::filesystem::path& groups = "/sys/fs/cgroup");

}  // namespace gearstalk
