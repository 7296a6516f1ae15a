#include "broker/base/clock.h"

#include <ctime>

namespace gearstalk {
namespace {

Time Read(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return static_cast<Time>(ts.tv_sec) * kSecond + ts.tv_nsec;
}

}  // namespace

Time BootTime() { return Read(CLOCK_BOOTTIME); }

Time WallClock() { return Read(CLOCK_REALTIME); }

SystemClock::SystemClock() : offset_(WallClock() - BootTime()) { Refresh(); }

void SystemClock::Resync() {
  offset_ = WallClock() - BootTime();
  Refresh();
}

void SystemClock::Refresh() { now_ = BootTime() + offset_; }

Time CpuTimeOf(int process) {
  clockid_t id{};
  return clock_getcpuclockid(process, &id) == 0 ? Read(id) : 0;
}

Time CpuTimeOfThread() { return Read(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace gearstalk
