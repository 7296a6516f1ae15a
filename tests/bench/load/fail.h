#pragma once

#include <string>

namespace gearstalk::bench {

// Ends the program with exit code 1: a measurement with an unexpected answer in it is worth
// nothing.
[[noreturn]] void Fail(const std::string& message);

// The same, with the text of errno behind the message.
[[noreturn]] void FailErrno(const std::string& message);

}  // namespace gearstalk::bench
