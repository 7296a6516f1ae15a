#include "tests/bench/load/fail.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace gearstalk::bench {

void Fail(const std::string& message) {
  std::fprintf(stderr, "load: %s\n", message.c_str());
  std::exit(1);
}

void FailErrno(const std::string& message) { Fail(message + ": " + std::strerror(errno)); }

}  // namespace gearstalk::bench
