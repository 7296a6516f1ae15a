#include "admin/ctl/database_url.h"

#include <cstdlib>

namespace gearstalk::ctl {

Result<DatabaseUrl> DatabaseUrl::Parse(const std::string& text) {
  DatabaseUrl url;
  const std::size_t slash = text.rfind('/');
  const std::string place = text.substr(0, slash);
  if (slash != std::string::npos) url.rest = text.substr(slash + 1);
  const std::size_t at = place.rfind('@');
  if (at != std::string::npos) {
    const std::string who = place.substr(0, at);
    const std::size_t colon = who.find(':');
    url.user = who.substr(0, colon);
    if (colon != std::string::npos) url.password = who.substr(colon + 1);
  }
  const std::string host = at == std::string::npos ? place : place.substr(at + 1);
  const std::size_t colon = host.rfind(':');
  url.host = host.substr(0, colon);
  if (colon != std::string::npos) url.port = host.substr(colon + 1);
  if (url.host.empty() || url.port.find_first_not_of("0123456789") != std::string::npos) {
    return Status(Code::kInvalid, "expected HOST[:PORT] in the address of the source");
  }
  const char* const password = std::getenv("GEARSTALK_SOURCE_PASSWORD");
  if (url.password.empty() && password != nullptr) url.password = password;
  return url;
}

}  // namespace gearstalk::ctl
