#pragma once

#include "broker/base/status.h"

namespace gearstalk {

// Code that a program loads when it needs it, so that only those who use it need its libraries.
struct Module {
  const char* file;
  const char* folder;   // below lib, of an installed one
  const char* package;  // of Debian, that has it
  const char* symbol;   // what the program uses of it
};

// Loads the module, which lies beside a program that was just built, and in lib/`folder` of an
// installed one, and returns the address of its symbol. It stays loaded until the program ends.
Result<const void*> LoadModule(const Module& module);

}  // namespace gearstalk
