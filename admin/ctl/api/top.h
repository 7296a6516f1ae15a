#pragma once

#include <string>

#include "admin/ctl/api/api.h"

namespace gearstalk::ctl::api {

struct TopOptions {
  double interval_s = 2;
  std::string sort = "busy";
  bool once = false;

  Parameters AsParameters() {
    return {{"--interval", &interval_s, "Seconds between frames", Between(0.1, 3600)},
            {"--sort", &sort, "As `tubes --sort`", OneOf(TubeOrders())},
            {"--once", &once, "Print one frame as text"}};
  }
};

// A table of tubes that is drawn anew every interval, on the whole terminal. Keys: s sorts, /
// matches, p pauses the tube under the mark for a minute or ends its pause, q quits. Returns the
// exit code.
int Top(Api& api, const TopOptions& options);

}  // namespace gearstalk::ctl::api
