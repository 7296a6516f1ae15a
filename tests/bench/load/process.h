#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace gearstalk::bench {

// What a process has used since it started.
struct CpuUse {
  int64_t run_ns = 0;            // sum over its threads, from schedstat
  int64_t user_system_ns = 0;    // from stat, in clock ticks of 10 ms
  int64_t context_switches = 0;  // voluntary and not, sum over its threads
};

// Reads /proc of a process that somebody else started.
class Process {
 public:
  explicit Process(pid_t pid);

  CpuUse ReadCpu() const;

  // Resident bytes.
  int64_t ReadMemory() const;

  // Lets all its threads run on this CPU only.
  void Pin(int cpu) const;

 private:
  template <typename Visit>
  void EachThread(Visit visit) const;

  std::string root_;
};

// The `index`-th CPU this process may run on.
int AllowedCpu(int index);

void PinSelf(int cpu);

}  // namespace gearstalk::bench
