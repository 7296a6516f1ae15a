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
constexpr std::array<Scheme, 7> kSchemes = {{{"binlog:", OpenBinlog},
                                             {"jobs:", OpenJobsFile},
                                             {"sqlite:", kSqlite},
                                             {"mysql://", kMysql},
                                             {"postgres:", kPostgres},
                                             {"postgresql:", kPostgres},
                                             {"redis://", kRedis}}};

}  // namespace

Result<std::unique_ptr<Source>> OpenSource(const std::string& text, const SourceOptions& options) {
  for (const Scheme& scheme : kSchemes) {
    if (!text.starts_with(scheme.prefix)) continue;
    const std::string rest = text.substr(scheme.prefix.size());
    const bool may_be_empty = scheme.prefix.starts_with("postgres");  // libpq has defaults
    if (rest.empty() && !may_be_empty) break;
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
