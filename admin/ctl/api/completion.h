#pragma once

#include <string>

namespace gearstalk::ctl::api {

// A completion script made from the table of commands: sub-commands, their flags, and for the
// commands with a tube as first argument the tubes of the server.
std::string Completion(const std::string& shell);

// The manual page in scdoc's form: each command with its options and an example.
std::string Manual();

}  // namespace gearstalk::ctl::api
