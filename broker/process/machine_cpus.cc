#include "broker/process/machine_cpus.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace gearstalk {
namespace {

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

std::size_t QuotaOf(const std::filesystem::path& group, bool second, std::size_t otherwise) {
  if (second) {
    std::ifstream both(group / "cpu.max");
    return Quota(both, both, otherwise);
  }
  std::ifstream quota(group / "cpu.cfs_quota_us"), period(group / "cpu.cfs_period_us");
  return Quota(quota, period, otherwise);
}

}  // namespace

// Lines as MachineMemory reads them. Version 1 may mount several controllers as one: "cpu,cpuacct".
std::size_t MachineCpus(const std::filesystem::path& groups_of_process,
                        const std::filesystem::path& groups) {
  std::size_t cpus = Affinity();
  std::ifstream lines(groups_of_process);
  for (std::string line; std::getline(lines, line);) {
    const bool second = line.starts_with("0::");
    const std::size_t controllers = line.find(':') + 1;
    const std::size_t path = line.find(':', controllers) + 1;
    const std::string names = "," + line.substr(controllers, path - controllers - 1) + ",";
    if (!second && names.find(",cpu,") == std::string::npos) continue;
    const std::filesystem::path root = second ? groups : groups / "cpu";
    for (std::filesystem::path group = line.substr(path);; group = group.parent_path()) {
      cpus = std::min(cpus, QuotaOf(root / group.relative_path(), second, cpus));
      if (!group.has_relative_path()) break;
    }
  }
  return std::max<std::size_t>(cpus, 1);
}

}  // namespace gearstalk
