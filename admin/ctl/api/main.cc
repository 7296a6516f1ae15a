#include <curl/curl.h>
#include <signal.h>

#include <cstdio>

#include "admin/ctl/api/command.h"

int main(int argc, char** argv) {
  using namespace gearstalk::ctl;
  using namespace gearstalk::ctl::api;
  // A reader that goes away ends the output, not a write.
  signal(SIGPIPE, SIG_DFL);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  const int exit_code = Run(argc, argv);
  curl_global_cleanup();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  Tell("standard output cannot be written");
  return exit_code == kDone ? kFailed : exit_code;
}
