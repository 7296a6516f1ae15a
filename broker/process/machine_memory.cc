#include "broker/process/machine_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace gearstalk {
namespace {

// RLIM_INFINITY is the largest number.
std::uint64_t ResourceLimit(int resource) {
  rlimit limit{};
  return getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) == 0 ? limit.rlim_cur
                                                                            : RLIM_INFINITY;
}

// A file without a number ("max") limits nothing.
std::uint64_t Limited(std::uint64_t memory, const std::filesystem::path& file) {
  std::uint64_t limit = 0;
  return std::ifstream(file) >> limit ? std::min(memory, limit) : memory;
}

}  // namespace

// A line of the process is "0::PATH" (version 2), or "NUMBER:memory:PATH" (version 1). A path may
// have colons, too.
std::uint64_t MachineMemory(const std::filesystem::path& groups_of_process,
                            const std::filesystem::path& groups) {
  std::uint64_t memory = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  memory = std::min({memory, ResourceLimit(RLIMIT_AS), ResourceLimit(RLIMIT_DATA)});
  std::ifstream lines(groups_of_process);
  for (std::string line; std::getline(lines, line);) {
    const bool second = line.starts_with("0::");
    if (!second && line.find(":memory:") == std::string::npos) continue;
    const std::filesystem::path root = second ? groups : groups / "memory";
    std::filesystem::path group = line.substr(line.find(':', line.find(':') + 1) + 1);
    for (;; group = group.parent_path()) {
      memory = Limited(
          memory, root / group.relative_path() / (second ? "memory.max" : "memory.limit_in_bytes"));
      if (!group.has_relative_path()) break;
    }
  }
  return memory;
}

}  // namespace gearstalk
