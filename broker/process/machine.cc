#include "broker/process/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>

namespace gearstalk {
namespace {

namespace fs = std::filesystem;

// Visits the groups of the process and those around them, and says whether they are of version 2. A
// line of the process is "0::PATH" (version 2), or "NUMBER:CONTROLLER,...:PATH" (version 1), which
// may mount several controllers as one. A path may have colons, too.
void VisitGroups(const fs::path& groups_of_process, const fs::path& groups,
                 const std::string& controller,
                 const std::function<void(const fs::path& group, bool second)>& visit) {
  std::ifstream lines(groups_of_process);
  for (std::string line; std::getline(lines, line);) {
    const bool second = line.starts_with("0::");
    const std::size_t controllers = line.find(':') + 1;
    const std::size_t path = line.find(':', controllers) + 1;
    const std::string names = "," + line.substr(controllers, path - controllers - 1) + ",";
    if (!second && names.find("," + controller + ",") == std::string::npos) continue;
    const fs::path root = second ? groups : groups / controller;
    for (fs::path group = line.substr(path);; group = group.parent_path()) {
      visit(root / group.relative_path(), second);
      if (!group.has_relative_path()) break;
    }
  }
}

// RLIM_INFINITY is the largest number.
std::uint64_t ResourceLimit(int resource) {
  rlimit limit{};
  return getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) == 0 ? limit.rlim_cur
                                                                            : RLIM_INFINITY;
}

// A file without a number ("max") limits nothing.
std::uint64_t Limited(std::uint64_t memory, const fs::path& file) {
  std::uint64_t limit = 0;
  return std::ifstream(file) >> limit ? std::min(memory, limit) : memory;
}

std::size_t Affinity() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  const bool known = sched_getaffinity(0, sizeof cpus, &cpus) == 0;
  return known ? static_cast<std::size_t>(CPU_COUNT(&cpus)) : 1;
}

// "QUOTA PERIOD"; a quota that is no positive number ("max", -1) limits nothing.
std::size_t Quota(std::istream& quota_text, std::istream& period_text, std::size_t otherwise) {
  long quota = 0, period = 0;
  const bool known = quota_text >> quota && period_text >> period && quota > 0 && period > 0;
  return known ? static_cast<std::size_t>((quota + period - 1) / period) : otherwise;
}

std::size_t QuotaOf(const fs::path& group, bool second, std::size_t otherwise) {
  if (second) {
    std::ifstream both(group / "cpu.max");
    return Quota(both, both, otherwise);
  }
  std::ifstream quota(group / "cpu.cfs_quota_us"), period(group / "cpu.cfs_period_us");
  return Quota(quota, period, otherwise);
}

}  // namespace

std::uint64_t MachineMemory(const fs::path& groups_of_process, const fs::path& groups) {
  std::uint64_t memory = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  memory = std::min({memory, ResourceLimit(RLIMIT_AS), ResourceLimit(RLIMIT_DATA)});
  VisitGroups(groups_of_process, groups, "memory", [&](const fs::path& group, bool second) {
    memory = Limited(memory, group / (second ? "memory.max" : "memory.limit_in_bytes"));
  });
  return memory;
}

std::size_t MachineCpus(const fs::path& groups_of_process, const fs::path& groups) {
  std::size_t cpus = Affinity();
  VisitGroups(groups_of_process, groups, "cpu", [&](const fs::path& group, bool second) {
    cpus = std::min(cpus, QuotaOf(group, second, cpus));
  });
  return std::max<std::size_t>(cpus, 1);
}

}  // namespace gearstalk
