#include "admin/ctl/source.h"

#include <array>

namespace gearstalk::ctl {
namespace {

#ifdef GEARSTALK_IMPORT_SQLITE
constexpr SourceMaker kSqlite = OpenSqlite;
#else
constexpr SourceMaker kSqlite = nullptr;
#endif
#ifdef GEARSTALK_IMPORT_MYSQL
constexpr SourceMaker kMysql = OpenMysql;
#else
constexpr SourceMaker kMysql = nullptr;
#endif
#ifdef GEARSTALK_IMPORT_POSTGRES
constexpr SourceMaker kPostgres = OpenPostgres;
#else
constexpr SourceMaker kPostgres = nullptr;
#endif
#ifdef GEARSTALK_IMPORT_REDIS
constexpr SourceMaker kRedis = OpenRedis;
#else
constexpr SourceMaker kRedis = nullptr;
#endif

struct Scheme {
  std::string_view prefix;
  SourceMaker make;
};
constexpr std::array<Scheme, 6> kSchemes = {{{"binlog:", OpenBinlog},
                                             {"jobs:", OpenJobsFile},
                                             {"sqlite:", kSqlite},
                                             {"mysql://", kMysql},
                                             {"postgres:", kPostgres},
                                             {"redis://", kRedis}}};

}  // namespace

Result<std::unique_ptr<Source>> OpenSource(const std::string& text, const SourceOptions& options) {
  for (const Scheme& scheme : kSchemes) {
    if (!text.starts_with(scheme.prefix)) continue;
    const std::string rest = text.substr(scheme.prefix.size());
    if (rest.empty() && scheme.prefix != "postgres:") break;  // libpq has defaults for everything
    if (scheme.make != nullptr) return scheme.make(rest, options);
    return Status(Code::kInvalid, "this gearstalkctl was built without the library for " +
                                      std::string(scheme.prefix));
  }
  return Status(Code::kInvalid,
                "unknown source '" + text +
                    "': use binlog:DIR, sqlite:FILE, mysql://..., postgres:CONNINFO, redis://... "
                    "or jobs:FILE");
}

}  // namespace gearstalk::ctl
