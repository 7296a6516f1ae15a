#include <curl/curl.h>
#include <signal.h>

#include "admin/ctl/api/command.h"

int main(int argc, char** argv) {
  // A reader that goes away ends the output, not a write.
  signal(SIGPIPE, SIG_DFL);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  const int exit_code = gearstalk::ctl::api::Run(argc, argv);
  curl_global_cleanup();
  return exit_code;
}
