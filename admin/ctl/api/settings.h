#pragma once

#include <string>

#include "broker/base/status.h"

namespace gearstalk::ctl::api {

// What all commands share: which server, who asks, how answers are printed.
struct Settings {
  std::string server;      // http://HOST:PORT[/BASE], https://..., unix:/PATH
  std::string at;          // name of a server in the configuration file
  std::string config;      // file; empty: the usual places
  std::string token_file;  // empty: none
  std::string ca_file;     // empty: the system's
  std::string token;       // read from `token_file` or GEARSTALKCTL_TOKEN
  double timeout_s = 10;
  bool json = false;
  bool yes = false;
  bool quiet = false;
  std::string color = "auto";  // or always, never
};

// Fills what flags left open: from the environment, then the configuration file, then what a
// packaged broker on this machine has. Errors name the file, variable or flag.
Status Complete(Settings& settings);

// Of the environment; empty: not set.
std::string Variable(const char* name);

}  // namespace gearstalk::ctl::api
