#pragma once

#include <string>

#include "admin/ctl/command.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {

// HOST:PORT or unix:/PATH.
struct Address {
  std::string host;  // empty: a Unix socket
  std::string port;
  std::string path;
  std::string text;  // as given

  static Result<Address> Parse(const std::string& text);
};

// Behind the "://" of SCHEME://ADDRESS.
std::string AddressOf(const std::string& url);

// Whether two addresses stand for one numeric address and port, or for one path.
bool SameEndpoint(const std::string& one, const std::string& other);

// kInvalid: `url`, SCHEME://ADDRESS, names the server at `address`, so jobs would be moved from it
// to itself without end.
Status CheckOther(const std::string& url, const std::string& address);

// Where a broker is and how it is reached: --to or --from, --data-dir, and TLS.
struct Target {
  std::string address{};
  std::string data_dir{};  // not empty: no broker runs, its journal is opened
  bool tls = false;
  std::string tls_ca{}, tls_certificate{}, tls_key{};

  // Adds its options. `flag`: "--to" or "--from".
  void AddTo(Parameters& parameters, std::string_view flag, bool with_data_dir = true);
  void AddTlsFilesTo(Parameters& parameters, const Rules& rules);
  bool HasTlsFiles() const {
    return !tls_ca.empty() || !tls_certificate.empty() || !tls_key.empty();
  }
  // An error: --data-dir names no directory. Only import makes one.
  Status CheckDirectory() const;
  // For people and reports.
  std::string Name() const { return data_dir.empty() ? address : data_dir; }
};

}  // namespace gearstalk::ctl
