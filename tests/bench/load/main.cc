#include <sys/resource.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "tests/bench/load/fail.h"
#include "tests/bench/load/measurement.h"

namespace {

using gearstalk::bench::Fail;
using gearstalk::bench::Measurement;
using gearstalk::bench::Options;
using gearstalk::bench::Process;

void RaiseDescriptorLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void PinApart(const Process& server, const std::vector<Process>& routers) {
  const int first = gearstalk::bench::AllowedCpu(0);
  const int second = gearstalk::bench::AllowedCpu(1);
  server.Pin(first);
  for (const Process& router : routers) router.Pin(first);
  gearstalk::bench::PinSelf(second);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = gearstalk::bench::ParseOptions(argc, argv);
  alarm(options.limit_seconds);
  RaiseDescriptorLimit();
  const Process server(options.pid);
  const std::vector<Process> routers(options.routers.begin(), options.routers.end());
  if (options.pin_apart) PinApart(server, routers);
  Measurement measurement(options, server, routers);
  const auto run = [&measurement] {
    std::cout << measurement.Run() << std::endl;
    if (const std::string wrong = measurement.Complaint(); !wrong.empty()) Fail(wrong);
  };
  if (!options.steps) {
    run();
    return 0;
  }
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) run();
  return 0;
}
