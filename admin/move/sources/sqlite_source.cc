#include <sqlite3.h>

#include <filesystem>
#include <memory>

#include "admin/move/sources/table_source.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

namespace fs = std::filesystem;

std::optional<std::string_view> Text(sqlite3_stmt* row, int column) {
  if (column < 0 || sqlite3_column_type(row, column) == SQLITE_NULL) return std::nullopt;
  const void* const data = sqlite3_column_blob(row, column);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(row, column));
  return std::string_view(static_cast<const char*>(data), data == nullptr ? 0 : size);
}

std::optional<std::int64_t> Number(sqlite3_stmt* row, int column) {
  if (column < 0) return std::nullopt;
  if (sqlite3_column_type(row, column) != SQLITE_INTEGER) return NumberIn(Text(row, column));
  return sqlite3_column_int64(row, column);
}

class SqliteSource final : public TableSource {
 public:
  SqliteSource(std::string path, const SourceOptions& options)
      : TableSource(options, "gearman_queue"), path_(std::move(path)) {}
  ~SqliteSource() override { sqlite3_close(db_); }

  Status Open() override {
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path_.c_str(), &db_, flags, nullptr) != SQLITE_OK) return Failed();
    sqlite3_busy_timeout(db_, 5000);
    // A gearmand that was killed left half a transaction, which only a writer may roll back.
    if (Touch(db_) == SQLITE_READONLY_ROLLBACK) RollBack();
    return {};
  }

  std::string Name() const override { return "sqlite:" + path_; }

  Status Retire() override {
    sqlite3_close(db_);
    db_ = nullptr;
    if (sqlite3_open_v2(path_.c_str(), &db_, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK) {
      return Failed();
    }
    return TableSource::Retire();
  }

 protected:
  Status ReadRows(const VisitRow& visit) override {
    sqlite3_stmt* raw = nullptr;
    const std::string query = "SELECT * FROM " + Quoted(table()) + " ORDER BY rowid";
    if (sqlite3_prepare_v2(db_, query.c_str(), -1, &raw, nullptr) != SQLITE_OK) return Failed();
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> rows(raw, sqlite3_finalize);
    const auto column = [&](std::string_view name) {
      for (int i = 0; i < sqlite3_column_count(raw); ++i) {
        if (sqlite3_column_name(raw, i) == name) return i;
      }
      return -1;
    };
    if (column("unique_key") < 0 || column("function_name") < 0) {
      return {Code::kIo, "table " + table() + " of " + path_ + " is none of gearmand's"};
    }
    for (;;) {
      const int step = sqlite3_step(raw);
      if (step == SQLITE_DONE) return {};
      if (step != SQLITE_ROW) return Failed();
      GS_TRY(visit(RowOf([&](std::string_view name) { return Text(raw, column(name)); },
                         [&](std::string_view name) { return Number(raw, column(name)); })));
    }
  }

  Status Execute(const std::string& statement) override {
    const int code = sqlite3_exec(db_, statement.c_str(), nullptr, nullptr, nullptr);
    return code == SQLITE_OK ? Status() : Failed();
  }

 private:
  // Reads one page. The extended code of its outcome.
  static int Touch(sqlite3* db) {
    sqlite3_exec(db, "PRAGMA schema_version", nullptr, nullptr, nullptr);
    return sqlite3_extended_errcode(db);
  }

  // Whether that was possible shows when the table is read.
  void RollBack() const {
    sqlite3* db = nullptr;
    if (sqlite3_open_v2(path_.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK) Touch(db);
    sqlite3_close(db);
  }

  Status Failed() const {
    std::string text = "sqlite:" + path_ + ": " + sqlite3_errmsg(db_);
    const int code = sqlite3_extended_errcode(db_);
    if (code == SQLITE_READONLY_ROLLBACK || code == SQLITE_CANTOPEN || code == SQLITE_READONLY ||
        fs::exists(path_ + "-journal")) {
      text += "; a hot journal beside the file needs its directory writable";
    }
    if ((code & 0xff) == SQLITE_BUSY) return {Code::kInUse, text + ": stop gearmand first"};
    return {Code::kIo, text};
  }

  const std::string path_;
  sqlite3* db_ = nullptr;
};

Result<std::unique_ptr<Source>> OpenSqlite(const std::string& rest, const SourceOptions& options) {
  std::error_code error;
  const std::string path = fs::weakly_canonical(fs::absolute(rest), error).string();
  if (!fs::exists(path, error)) return Status(Code::kIo, "sqlite:" + rest + ": no such file");
  return std::unique_ptr<Source>(std::make_unique<SqliteSource>(path, options));
}

}  // namespace

const SourceMaker gearstalk_open_source = OpenSqlite;

}  // namespace gearstalk::ctl
