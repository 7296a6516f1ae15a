#include "broker/config/kinds.h"
#include "broker/config/option_tables.h"

namespace gearstalk {
namespace {

using kinds::Checked;
using kinds::Expected;
using kinds::List;
using kinds::Number;
using kinds::Text;
using kinds::Truth;

#define FIELD(path) ([](auto& config) -> auto& { return config.path; })

Status SetBasePath(Config& config, std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  const bool good = path.empty() || (path.starts_with('/') && path.find("//") == path.npos &&
                                     path.find_first_of("?#% ;\"") == path.npos);
  if (!good) return Expected("a path that begins with '/'");
  config.console.base_path = path;
  return {};
}

}  // namespace

std::vector<Option> ConsoleOptions() {
  return {
      {"console.enabled", Apply::kConsole, Truth(FIELD(console.enabled)),
       "Serve the API (/api/v1) and the console (/console/) on the addresses of `admin`."},
      {"console.users", Apply::kConsole,
       List(FIELD(console.users), "NAME ROLE[+bodies] sha256:HEX [TUBES]", ';'),
       "Who may use the API and the console. ROLE: viewer, operator or admin; HEX: the SHA-256 of "
       "the token, as `gearstalkctl token` prints it; TUBES: shell patterns, separated by commas. "
       "May be repeated.",
       "nobody has a token",
       "anna operator+bodies sha256:PUT-HERE-WHAT-gearstalkctl-token-PRINTS mail-*"},
      {"console.anonymous", Apply::kConsole, Text(FIELD(console.anonymous), "ROLE[+bodies]|none"),
       "What requests without a token may do.",
       "admin+bodies for loopback and Unix sockets while console.users is empty, else none",
       "viewer"},
      {"console.hosts", Apply::kConsole, List(FIELD(console.hosts), "NAME", ' '),
       "Host names that requests may be for, beside localhost and IP addresses. May be repeated.",
       "no others", "broker.example.com"},
      {"console.proxies", Apply::kConsole, List(FIELD(console.proxies), "ADDRESS|unix", ' '),
       "Proxies in front, by IP address, or `unix` for whoever comes over a Unix socket: the "
       "broker believes the client's address that they name in X-Forwarded-For, counts requests, "
       "wrong tokens and event streams by it, and names it in the audit trail. May be repeated.",
       "no proxy is believed", "unix"},
      {"console.base_path", Apply::kRestart,
       Checked(Text(FIELD(console.base_path), "/PATH"), SetBasePath),
       "Prefix of all paths that a proxy in front leaves on.", "no prefix", "/gearstalk"},
      {"console.rate", Apply::kConsole, Number(FIELD(console.rate), "requests", 0, 1'000'000),
       "Requests of the API a second, for each user or address; 0: no limit."},
      {"console.history_file", Apply::kRestart, Text(FIELD(console.history_file), "FILE"),
       "File for the charts of thirty days.", "the file `history` in data_dir",
       "/var/lib/gearstalkd/history"},
  };
}

#undef FIELD

}  // namespace gearstalk
