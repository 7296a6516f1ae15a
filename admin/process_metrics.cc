#include "admin/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace gearstalk {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

void AddProcess(Time started, MetricText& text) {
  text.Gauge("process_start_time_seconds", "Start of the process, in seconds since 1970.")
      .Add(static_cast<double>(started) / static_cast<double>(kSecond));
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  text.Counter("process_cpu_seconds_total", "CPU time of the process.")
      .Add(Seconds(usage.ru_utime) + Seconds(usage.ru_stime));
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  if (std::ifstream("/proc/self/statm") >> size >> resident) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    text.Gauge("process_virtual_memory_bytes", "Virtual memory of the process.").Add(size * page);
    text.Gauge("process_resident_memory_bytes", "Resident memory of the process.")
        .Add(resident * page);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    text.Gauge("process_max_fds", "Most descriptors that the process may open.")
        .Add(std::uint64_t{limit.rlim_cur});
  }
}

}  // namespace gearstalk
