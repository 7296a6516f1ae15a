#include <libpq-fe.h>

#include <cstdlib>
#include <memory>

#include "admin/move/sources/table_source.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

using Rows = std::unique_ptr<PGresult, void (*)(PGresult*)>;

class PostgresSource final : public TableSource {
 public:
  PostgresSource(std::string conninfo, const SourceOptions& options)
      : TableSource(options, "queue"), conninfo_(std::move(conninfo)) {}
  ~PostgresSource() override { PQfinish(db_); }

  Status Open() override {
    // Its message would repeat the text, which may contain a password.
    PQconninfoOption* const parts = PQconninfoParse(conninfo_.c_str(), nullptr);
    if (parts == nullptr) {
      return {Code::kInvalid, "postgres: CONNINFO cannot be read: use KEY=VALUE ... or a URI"};
    }
    PQconninfoFree(parts);
    // CONNINFO comes later in the list and overrides these.
    const char* const names[] = {"password", "dbname", nullptr};
    const char* const values[] = {std::getenv("GEARSTALK_SOURCE_PASSWORD"), conninfo_.c_str(),
                                  nullptr};
    db_ = PQconnectdbParams(names, values, 1);
    if (PQstatus(db_) != CONNECTION_OK) return Failed();
    // Text in the encoding of the database.
    const Rows encoding(PQexec(db_,
                               "SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE "
                               "datname = current_database()"),
                        PQclear);
    if (PQntuples(encoding.get()) == 1) {
      PQsetClientEncoding(db_, PQgetvalue(encoding.get(), 0, 0));
    }
    return {};
  }

  std::string Name() const override {
    if (db_ == nullptr) return "postgres";
    const auto text = [](const char* value) { return std::string(value == nullptr ? "" : value); };
    return "postgres:" + text(PQhost(db_)) + ":" + text(PQport(db_)) + "/" + text(PQdb(db_)) + "/" +
           table();
  }

 protected:
  Status ReadRows(const VisitRow& visit) override {
    // Binary results: data as it is, numbers in network order.
    const std::string query = "SELECT * FROM " + Quoted(table()) + " ORDER BY ctid";
    if (PQsendQueryParams(db_, query.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 1) != 1 ||
        PQsetSingleRowMode(db_) != 1) {
      return Failed();
    }
    Status status;
    while (PGresult* raw = PQgetResult(db_)) {
      const Rows rows(raw, PQclear);
      const ExecStatusType state = PQresultStatus(raw);
      if (state == PGRES_TUPLES_OK || !status.ok()) continue;
      status = state == PGRES_SINGLE_TUPLE ? Take(raw, visit) : Failed();
    }
    return status;
  }

  Status Execute(const std::string& statement) override {
    const Rows done(PQexec(db_, statement.c_str()), PQclear);
    const ExecStatusType state = PQresultStatus(done.get());
    return state == PGRES_COMMAND_OK || state == PGRES_TUPLES_OK ? Status() : Failed();
  }

 private:
  static std::optional<std::string_view> Text(const PGresult* rows, const char* name) {
    const int column = PQfnumber(rows, name);
    if (column < 0 || PQgetisnull(rows, 0, column) == 1) return std::nullopt;
    return std::string_view(PQgetvalue(rows, 0, column),
                            static_cast<std::size_t>(PQgetlength(rows, 0, column)));
  }

  // Of a column of whole numbers, or of texts.
  static std::optional<std::int64_t> Number(const PGresult* rows, const char* name) {
    constexpr Oid kInt8 = 20, kInt2 = 21, kInt4 = 23, kText = 25, kVarchar = 1043;
    const std::optional<std::string_view> bytes = Text(rows, name);
    if (!bytes.has_value() || bytes->empty()) return std::nullopt;
    const Oid type = PQftype(rows, PQfnumber(rows, name));
    if (type == kText || type == kVarchar) return NumberIn(bytes);
    if (type != kInt2 && type != kInt4 && type != kInt8) return std::nullopt;
    std::uint64_t value = static_cast<signed char>(bytes->front()) < 0 ? ~std::uint64_t{0} : 0;
    for (const char byte : *bytes) value = value << 8 | static_cast<unsigned char>(byte);
    return static_cast<std::int64_t>(value);
  }

  Status Take(const PGresult* rows, const VisitRow& visit) const {
    if (PQfnumber(rows, "unique_key") < 0 || PQfnumber(rows, "function_name") < 0) {
      return {Code::kIo, Name() + " is none of gearmand's"};
    }
    return visit(RowOf([&](const char* name) { return Text(rows, name); },
                       [&](const char* name) { return Number(rows, name); }));
  }

  Status Failed() const { return {Code::kIo, Name() + ": " + PQerrorMessage(db_)}; }

  const std::string conninfo_;
  PGconn* db_ = nullptr;
};

Result<std::unique_ptr<Source>> OpenPostgres(const std::string& rest,
                                             const SourceOptions& options) {
  // postgres://... is a URI of libpq as it stands.
  const std::string conninfo = rest.starts_with("//") ? "postgres:" + rest : rest;
  return std::unique_ptr<Source>(std::make_unique<PostgresSource>(conninfo, options));
}

}  // namespace

const SourceMaker gearstalk_open_source = OpenPostgres;

}  // namespace gearstalk::ctl
