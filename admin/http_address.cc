#include "admin/http_address.h"

#include <fmt/format.h>

#include <charconv>

namespace gearstalk {

Result<HttpAddress> HttpAddress::Parse(std::string_view text) {
  const auto colon = text.rfind(':');
  HttpAddress address;
  address.host = text.substr(0, colon == std::string_view::npos ? 0 : colon);
  if (address.host.empty()) address.host = "127.0.0.1";
  const std::string_view digits = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), address.port);
  if (error != std::errc() || end != digits.end() || digits.empty()) {
    return Status(Code::kInvalid,
                  fmt::format("admin address '{}': expected HOST:PORT, the port a number from 0 "
                              "to 65535",
                              text));
  }
  return address;
}

}  // namespace gearstalk
