#pragma once

#include <string>

namespace gearstalk::ctl::api {

// A completion script made from the table of commands: sub-commands, their flags, and for the
// commands with a tube as first argument the tubes of the server.
std::string Completion(const std::string& shell);

}  // namespace gearstalk::ctl::api
