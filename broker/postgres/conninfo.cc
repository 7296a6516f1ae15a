#include "broker/postgres/conninfo.h"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "broker/base/split.h"
#include "broker/replica/store_files.h"

namespace gearstalk::postgres {
namespace {

using Words = std::map<std::string, std::string>;

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using OptionList = std::unique_ptr<PQconninfoOption, FreeOptions>;

Status Invalid(std::string message) { return {Code::kInvalid, std::move(message)}; }

Words WordsOf(const PQconninfoOption* option) {
  Words words;
  for (; option != nullptr && option->keyword != nullptr; ++option) {
    if (option->val != nullptr && *option->val != '\0') words[option->keyword] = option->val;
  }
  return words;
}

Result<Words> Parse(const std::string& conninfo) {
  char* error = nullptr;
  const OptionList options(PQconninfoParse(conninfo.c_str(), &error));
  if (options != nullptr) return WordsOf(options.get());
  const std::string why = error == nullptr ? "out of memory" : error;
  PQfreemem(error);
  return Invalid("postgres.conninfo: " + why.substr(0, why.find_last_not_of('\n') + 1));
}

bool IsLocal(const std::string& host) {
  return host.empty() || host.front() == '/' || host.front() == '@' || host == "localhost" ||
         host == "::1" || host.starts_with("127.");
}

// What the options add to the conninfo, which goes first.
Status AddOptions(const PostgresOptions& options, Words& words) {
  const std::pair<const char*, const std::string&> files[] = {
      {"postgres.ca", options.ca},
      {"postgres.certificate", options.certificate},
      {"postgres.key", options.key}};
  if (options.certificate.empty() && !options.key.empty()) {
    return Invalid("postgres.key needs postgres.certificate");
  }
  for (const auto& [option, path] : files) GS_TRY(ReadPem(option, path));
  if (!options.ca.empty()) words["sslrootcert"] = options.ca;
  if (!options.certificate.empty()) {
    words["sslcert"] = options.certificate;
    words["sslkey"] = options.key.empty() ? options.certificate : options.key;
  }
  if (!options.password_file.empty()) {
    words["password"] = GS_TRY(ReadPassword("postgres.password_file", options.password_file));
  }
  return {};
}

// The connection ends when the server's host does not answer for a lease.
void AddTimeouts(Time lease, Words& words) {
  const Time seconds = std::max<Time>(lease / kSecond, 1);
  words.try_emplace("tcp_user_timeout", std::to_string(lease / kMillisecond));
  words.try_emplace("keepalives_idle", std::to_string(seconds));
  words.try_emplace("keepalives_interval", "1");
  words.try_emplace("keepalives_count", std::to_string(seconds + 1));
  words.try_emplace("gssencmode", "disable");  // its set-up waits for other servers
}

Status CheckWords(const PostgresOptions& options, const Words& words) {
  if (options.schema.empty() || options.schema.size() > kLongestName ||
      options.schema.find('\0') != std::string::npos) {
    return Invalid(
        fmt::format("postgres.schema: '{}' must have 1 to {} bytes", options.schema, kLongestName));
  }
  if (options.schema.starts_with("pg_")) {
    return Invalid(
        fmt::format("postgres.schema: '{}': names with pg_ belong to PostgreSQL", options.schema));
  }
  if (!words.contains("host") && !words.contains("hostaddr")) {
    return Invalid("postgres.conninfo: names no host=, which is a server or a socket's directory");
  }
  for (const char* word : {"service", "options", "replication"}) {
    if (words.contains(word)) {
      return Invalid(fmt::format("postgres.conninfo: {} cannot be used here", word));
    }
  }
  return {};
}

// The `index`th of a list that has one value for all hosts, or one for each.
std::string_view ValueFor(const std::vector<std::string_view>& list, std::size_t index) {
  return list.size() == 1 ? list.front() : list[index];
}

}  // namespace

Result<std::vector<Host>> HostsOf(const PostgresOptions& options) {
  Words words = GS_TRY(Parse(options.conninfo));
  GS_TRY(CheckWords(options, words));
  GS_TRY(AddOptions(options, words));
  AddTimeouts(options.lease, words);
  for (const char* word : {"target_session_attrs", "connect_timeout", "application_name"}) {
    words.erase(word);
  }
  const std::vector<std::string_view> names = Split(words["host"], ',');
  const std::vector<std::string_view> addresses = Split(words["hostaddr"], ',');
  const std::vector<std::string_view> ports = Split(words["port"], ',');
  const std::size_t count = std::max(names.size(), addresses.size());
  if ((names.size() != count && !words["host"].empty()) ||
      (addresses.size() != count && !words["hostaddr"].empty()) ||
      (ports.size() != 1 && ports.size() != count)) {
    return Invalid("postgres.conninfo: host, hostaddr and port must name the same number of hosts");
  }
  std::vector<Host> hosts;
  for (std::size_t i = 0; i < count; ++i) {
    Host host{"", words};
    host.words["host"] = ValueFor(names, i);
    host.words["hostaddr"] = ValueFor(addresses, i);
    host.words["port"] = ValueFor(ports, i);
    const std::string& where = host.words[host.words["hostaddr"].empty() ? "host" : "hostaddr"];
    if (!host.words.contains("sslmode") && !IsLocal(where)) {
      host.words["sslmode"] = options.ca.empty() ? "require" : "verify-full";
    }
    const std::string& port = host.words["port"];
    host.name = (where.empty() ? "localhost" : where) + ":" + (port.empty() ? "5432" : port);
    hosts.push_back(std::move(host));
  }
  return hosts;
}

}  // namespace gearstalk::postgres
