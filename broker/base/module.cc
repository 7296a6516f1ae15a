#include "broker/base/module.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

namespace gearstalk {

namespace fs = std::filesystem;

Result<const void*> LoadModule(const Module& module) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  fs::path file = program / module.file;
  if (!fs::exists(file, error)) {
    file = program.parent_path() / "lib" / module.folder / module.file;
  }
  if (!fs::exists(file, error)) {
    return Status(Code::kInvalid, file.string() + " is missing: install the package " +
                                      module.package + ", or build with the library that it needs");
  }
  void* const handle = dlopen(file.c_str(), RTLD_NOW);
  const void* const symbol = handle == nullptr ? nullptr : dlsym(handle, module.symbol);
  if (symbol == nullptr) return Status(Code::kInvalid, dlerror());
  return symbol;
}

}  // namespace gearstalk
