#pragma once

#include <memory>
#include <string>
#include <vector>

#include "broker/base/status.h"
#include "broker/config/config.h"
#include "broker/server/access_rules.h"
#include "broker/server/tls.h"

namespace gearstalk {

// Certificates and rights as the configuration names them.
struct Security {
  std::shared_ptr<const TlsContext> tls;  // nullptr: none
  AccessRules access;
};

// Warnings about valid settings that protect less than they seem to.
std::vector<std::string> DoubtsAbout(const Config& config);

// Reads the files of TLS; nullptr: no TLS. Errors name the option, the file, and what is wrong.
Result<std::shared_ptr<const TlsContext>> LoadTls(const Config& config);

// The same, with the rules.
Result<Security> LoadSecurity(const Config& config);

// Logs which certificates are in use from now on, if they are not those that were.
void LogCertificates(const TlsContext* before, const TlsContext* now);

}  // namespace gearstalk
