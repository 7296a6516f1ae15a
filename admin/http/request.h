#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gearstalk {

// Who sent a request.
struct HttpPeer {
  std::string address;  // "127.0.0.1", "::1", or "unix"
  bool local = false;   // loopback or a Unix socket
  bool unix = false;
};

// One request, whole or, before its body has come, its head.
struct HttpRequest {
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  std::string method;
  std::string path;  // percent-encoded as it was sent, without the query
  Pairs query;       // decoded, in order
  Pairs headers;     // names in lower case
  std::string body;
  bool keep_alive = true;
  bool chunked_answers = true;  // HTTP/1.1
  HttpPeer peer;

  // nullptr: there is none.
  const std::string* Header(std::string_view name) const;
  bool Reads() const { return method == "GET" || method == "HEAD"; }
};

// With the letters of ASCII in lower case.
std::string Lower(std::string_view text);
// False: a '%' without two hexadecimal digits behind it. `plus`: '+' is a space, as in queries.
bool PercentDecode(std::string_view text, bool plus, std::string& decoded);
// All bytes but the unreserved characters of RFC 3986 become %HH.
std::string PercentEncode(std::string_view bytes);

}  // namespace gearstalk
