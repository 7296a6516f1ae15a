#include "broker/base/cpu_time.h"

#include <ctime>

namespace gearstalk {
namespace {

Time ReadCpu(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return static_cast<Time>(ts.tv_sec) * kSecond + ts.tv_nsec;
}

}  // namespace

Time CpuTimeOf(int process) {
  clockid_t id{};
  return clock_getcpuclockid(process, &id) == 0 ? ReadCpu(id) : 0;
}

Time CpuTimeOfThread() { return ReadCpu(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace gearstalk
