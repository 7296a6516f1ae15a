#include "tests/bench/load/process.h"

#include <dirent.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/bench/load/clock.h"
#include "tests/bench/load/fail.h"

namespace gearstalk::bench {

namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The number behind `name` in a file of "name: number" lines; 0 when there is none.
int64_t Field(const std::string& text, const std::string& name) {
  const size_t at = text.find(name);
  return at == std::string::npos ? 0 : std::atoll(text.c_str() + at + name.size());
}

int64_t UserSystemTicks(const std::string& stat) {
  constexpr int kFieldsBeforeUtime = 11;
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < kFieldsBeforeUtime; ++i) fields >> skipped;
  int64_t user = 0;
  int64_t system = 0;
  fields >> user >> system;
  return user + system;
}

void PinThread(pid_t thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  if (sched_setaffinity(thread, sizeof set, &set) != 0) FailErrno("sched_setaffinity");
}

}  // namespace

Process::Process(pid_t pid) : root_("/proc/" + std::to_string(pid)) {
  if (access(root_.c_str(), R_OK) != 0) FailErrno(root_);
}

template <typename Visit>
void Process::EachThread(Visit visit) const {
  const std::string path = root_ + "/task";
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) FailErrno(path);
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] != '.') visit(path + "/" + entry->d_name, std::atoi(entry->d_name));
  }
  closedir(directory);
}

CpuUse Process::ReadCpu() const {
  CpuUse use;
  EachThread([&use](const std::string& task, pid_t) {
    use.run_ns += std::atoll(ReadFile(task + "/schedstat").c_str());
    use.context_switches += Field(ReadFile(task + "/status"), "\nvoluntary_ctxt_switches:") +
                            Field(ReadFile(task + "/status"), "nonvoluntary_ctxt_switches:");
  });
  const int64_t ticks = UserSystemTicks(ReadFile(root_ + "/stat"));
  use.user_system_ns = ticks * (kSecond / sysconf(_SC_CLK_TCK));
  return use;
}

int64_t Process::ReadMemory() const {
  const std::string rollup = ReadFile(root_ + "/smaps_rollup");
  if (!rollup.empty()) return Field(rollup, "\nRss:") * 1024;
  return Field(ReadFile(root_ + "/status"), "\nVmRSS:") * 1024;
}

void Process::Pin(int cpu) const {
  EachThread([cpu](const std::string&, pid_t thread) { PinThread(thread, cpu); });
}

int AllowedCpu(int index) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) FailErrno("sched_getaffinity");
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<size_t>(cpu), &set) && index-- == 0) return cpu;
  }
  Fail("not enough CPUs to pin server and load apart");
}

void PinSelf(int cpu) { PinThread(0, cpu); }

}  // namespace gearstalk::bench
