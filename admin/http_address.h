#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "broker/base/status.h"

namespace gearstalk {

// Where the pages are: HOST:PORT, ":PORT" or "PORT"; without a host it is 127.0.0.1.
struct HttpAddress {
  std::string host;  // an IPv6 address in brackets
  std::uint16_t port = 0;

  static Result<HttpAddress> Parse(std::string_view text);
};

}  // namespace gearstalk
