#include <fmt/format.h>
#include <mysql.h>

#include <memory>

#include "admin/move/sources/database_url.h"
#include "admin/move/sources/table_source.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

class MysqlSource final : public TableSource {
 public:
  MysqlSource(DatabaseUrl url, const SourceOptions& options)
      : TableSource(options, "gearman_queue", '`'), url_(std::move(url)) {}
  ~MysqlSource() override {
    if (db_ != nullptr) mysql_close(db_);
  }

  Status Open() override {
    db_ = mysql_init(nullptr);
    mysql_options(db_, MYSQL_SET_CHARSET_NAME, options().charset.c_str());
    // For localhost, the library would take the server's default socket and ignore the port.
    unsigned protocol = MYSQL_PROTOCOL_TCP;
    if (url_.port != 0) mysql_options(db_, MYSQL_OPT_PROTOCOL, &protocol);
    if (mysql_real_connect(db_, url_.host.c_str(), url_.user.c_str(), url_.password.c_str(),
                           url_.rest.c_str(), url_.port, nullptr, 0) == nullptr) {
      return Failed();
    }
    return {};
  }

  std::string Name() const override {
    return fmt::format("mysql:{}/{}/{}", url_.Place(), url_.rest, table());
  }

 protected:
  Status ReadRows(const VisitRow& visit) override {
    const std::string query =
        "SELECT * FROM " + Quoted(table()) + " ORDER BY function_name, unique_key";
    if (mysql_query(db_, query.c_str()) != 0) return Failed();
    const std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> rows(mysql_use_result(db_),
                                                                mysql_free_result);
    if (rows == nullptr) return Failed();
    const MYSQL_FIELD* const fields = mysql_fetch_fields(rows.get());
    const unsigned count = mysql_num_fields(rows.get());
    while (MYSQL_ROW values = mysql_fetch_row(rows.get())) {
      const unsigned long* const sizes = mysql_fetch_lengths(rows.get());
      const auto text = [&](std::string_view name) -> std::optional<std::string_view> {
        for (unsigned i = 0; i < count; ++i) {
          if (fields[i].name == name && values[i] != nullptr) {
            return std::string_view(values[i], sizes[i]);
          }
        }
        return std::nullopt;
      };
      const auto number = [&](std::string_view name) { return NumberIn(text(name)); };
      GS_TRY(visit(RowOf(text, number)));
    }
    return mysql_errno(db_) == 0 ? Status() : Failed();
  }

  Status Execute(const std::string& statement) override {
    if (mysql_query(db_, statement.c_str()) != 0) return Failed();
    mysql_free_result(mysql_store_result(db_));
    return {};
  }

 private:
  Status Failed() const { return {Code::kIo, Name() + ": " + mysql_error(db_)}; }

  const DatabaseUrl url_;
  MYSQL* db_ = nullptr;
};

Result<std::unique_ptr<Source>> OpenMysql(const std::string& rest, const SourceOptions& options) {
  DatabaseUrl url = GS_TRY(DatabaseUrl::Parse(rest));
  if (url.user.empty() || url.rest.empty()) {
    return Status(Code::kInvalid, "mysql: expected mysql://USER[:PW]@HOST[:PORT]/DB");
  }
  return std::unique_ptr<Source>(std::make_unique<MysqlSource>(std::move(url), options));
}

}  // namespace

const SourceMaker gearstalk_open_source = OpenMysql;

}  // namespace gearstalk::ctl
