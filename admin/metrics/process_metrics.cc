#include "admin/metrics/process_metrics.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace gearstalk {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

struct Memory {
  std::uint64_t size = 0, resident = 0;  // bytes; 0: the system does not say
};

Memory ReadMemory() {
  Memory memory;
  std::ifstream("/proc/self/statm") >> memory.size >> memory.resident;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return {memory.size * page, memory.resident * page};
}

// The kernel tells their number since Linux 6.2; before, they are counted.
std::uint64_t OpenDescriptors() {
  struct stat directory {};
  if (stat("/proc/self/fd", &directory) != 0) return 0;
  if (directory.st_size > 0) return static_cast<std::uint64_t>(directory.st_size);
  std::error_code error;
  const std::filesystem::directory_iterator all("/proc/self/fd", error);
  return error ? 0 : static_cast<std::uint64_t>(std::distance(begin(all), end(all)));
}

}  // namespace

std::uint64_t ResidentBytes() { return ReadMemory().resident; }

void AddProcess(Time started, MetricText& text) {
  text.Gauge("process_start_time_seconds", "Start of the process, in seconds since 1970.")
      .Add(static_cast<double>(started) / static_cast<double>(kSecond));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  text.Counter("process_cpu_seconds_total", "CPU time of the process.")
      .Add(Seconds(usage.ru_utime) + Seconds(usage.ru_stime));
  if (const Memory memory = ReadMemory(); memory.size > 0) {
    text.Gauge("process_virtual_memory_bytes", "Virtual memory of the process.").Add(memory.size);
    text.Gauge("process_resident_memory_bytes", "Resident memory of the process.")
        .Add(memory.resident);
  }
  text.Gauge("process_open_fds", "Open descriptors.").Add(OpenDescriptors());
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    text.Gauge("process_max_fds", "Most descriptors that the process may open.")
        .Add(std::uint64_t{limit.rlim_cur});
  }
}

}  // namespace gearstalk
