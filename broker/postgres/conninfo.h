#pragma once

#include <map>
#include <string>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/status.h"

namespace gearstalk::postgres {

inline constexpr std::size_t kLongestName = 63;  // bytes of an identifier

// Where PostgreSQL is and how to speak to it.
struct PostgresOptions {
  std::string conninfo;  // libpq's; names all servers that may become primary
  std::string schema = "gearstalkd";
  std::string password_file;         // its first line is the password
  std::string ca, certificate, key;  // PEM files; empty: libpq's defaults
  bool allow_unsafe = false;         // settings under which a confirmed commit can be lost
  Time lease = 2 * kSecond;          // of this broker: how long a try may take
};

// One server, and the keywords with which libpq connects to it.
struct Host {
  std::string name;  // HOST:PORT, or the path of a socket
  std::map<std::string, std::string> words;
};

// Reads the files, too. kInvalid: an option or a file is bad; the message names it.
Result<std::vector<Host>> HostsOf(const PostgresOptions& options);

}  // namespace gearstalk::postgres
