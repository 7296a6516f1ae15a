#include "admin/ctl/source.h"

#include <dlfcn.h>

#include <array>
#include <filesystem>

namespace gearstalk::ctl {
namespace {

namespace fs = std::filesystem;

// A maker of this program, or the module that has one, as libraries of databases are in modules.
struct Scheme {
  std::string_view prefix;
  SourceMaker make;
  const char* module;
};
constexpr std::array<Scheme, 7> kSchemes = {{{"binlog:", OpenBinlog, nullptr},
                                             {"jobs:", OpenJobsFile, nullptr},
                                             {"sqlite:", nullptr, "import_sqlite.so"},
                                             {"mysql://", nullptr, "import_mysql.so"},
                                             {"postgres:", nullptr, "import_postgres.so"},
                                             {"postgresql:", nullptr, "import_postgres.so"},
                                             {"redis://", nullptr, "import_redis.so"}}};

// Modules lie beside a program that was just built, and in lib/gearstalkctl of an installed one.
Status Load(const char* module, SourceMaker& make) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  fs::path file = program / module;
  if (!fs::exists(file, error)) file = program.parent_path() / "lib/gearstalkctl" / module;
  if (!fs::exists(file, error)) {
    return {Code::kInvalid, file.string() +
                                " is missing: install the package gearstalkctl-import, or build "
                                "with the library of that database"};
  }
  void* const handle = dlopen(file.c_str(), RTLD_NOW);  // for as long as the program runs
  void* const symbol = handle == nullptr ? nullptr : dlsym(handle, "gearstalk_open_source");
  if (symbol == nullptr) return {Code::kInvalid, dlerror()};
  make = *static_cast<const SourceMaker*>(symbol);
  return {};
}

}  // namespace

Result<std::unique_ptr<Source>> OpenSource(const std::string& text, const SourceOptions& options) {
  for (const Scheme& scheme : kSchemes) {
    if (!text.starts_with(scheme.prefix)) continue;
    const std::string rest = text.substr(scheme.prefix.size());
    const bool may_be_empty = scheme.prefix.starts_with("postgres");  // libpq has defaults
    if (rest.empty() && !may_be_empty) break;
    SourceMaker make = scheme.make;
    if (make == nullptr) {
      if (Status status = Load(scheme.module, make); !status.ok()) return status;
    }
    return make(rest, options);
  }
  return Status(Code::kInvalid,
                "unknown source '" + text +
                    "': use binlog:DIR, sqlite:FILE, mysql://..., postgres:CONNINFO, redis://... "
                    "or jobs:FILE");
}

}  // namespace gearstalk::ctl
