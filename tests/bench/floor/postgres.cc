// The least that a journal in PostgreSQL costs: inserts of one size, each sent when the one before
// was answered, without the fence that a broker has.

#include <libpq-fe.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "broker/base/clock.h"

namespace gearstalk::bench {
namespace {

struct Options {
  std::string conninfo, table;
  std::uint64_t record = 1000;
  double seconds = 1;
};

void Check(PGconn* connection, PGresult* result) {
  const bool good = PQresultStatus(result) == PGRES_COMMAND_OK;
  PQclear(result);
  if (good) return;
  std::cerr << PQerrorMessage(connection);
  std::exit(1);
}

nlohmann::json Measure(PGconn* connection, const Options& options) {
  const std::string make = "create table " + options.table +
                           " (seq bigint primary key, bytes bytea); alter table " + options.table +
                           " alter column bytes set storage external";
  Check(connection, PQexec(connection, make.c_str()));
  const std::string insert = "insert into " + options.table + " values ($1::bigint, $2::bytea)";
  const std::string bytes(options.record, 'x');
  const Time begun = BootTime();
  const Time end = begun + static_cast<Time>(options.seconds * kSecond);
  std::uint64_t done = 0;
  while (BootTime() < end) {
    const std::string seq = std::to_string(++done);
    const char* values[] = {seq.c_str(), bytes.data()};
    const int lengths[] = {0, static_cast<int>(bytes.size())};
    const int formats[] = {0, 1};
    Check(connection,
          PQexecParams(connection, insert.c_str(), 2, nullptr, values, lengths, formats, 1));
  }
  const double rate = static_cast<double>(done) * kSecond / static_cast<double>(BootTime() - begun);
  return {{"ops_per_second", rate},
          {"bytes_per_second", rate * static_cast<double>(options.record)}};
}

}  // namespace
}  // namespace gearstalk::bench

int main(int argc, char** argv) {
  gearstalk::bench::Options options;
  CLI::App app("Inserts into a table of PostgreSQL, one at a time.");
  app.add_option("conninfo", options.conninfo)->required();
  app.add_option("--table", options.table, "that it makes")->required();
  app.add_option("--record", options.record, "bytes of an insert");
  app.add_option("--seconds", options.seconds);
  CLI11_PARSE(app, argc, argv);
  PGconn* const connection = PQconnectdb(options.conninfo.c_str());
  std::cout << gearstalk::bench::Measure(connection, options) << std::endl;
  PQfinish(connection);
}
