#include "broker/app/security.h"

#include <absl/time/time.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/base/log.h"
#include "broker/config/option.h"
#include "broker/server/listener.h"

namespace gearstalk {
namespace {

// Refuses options that have no effect without a certificate but look like protection.
Status NeedsNoTls(const Config& config) {
  for (const std::string& text : config.listen) {
    const Result<ListenAddress> address = ListenAddress::Parse(text);
    if (!address.ok() || address.value().tls != TlsUse::kRequired) continue;
    return {Code::kInvalid,
            fmt::format("listen address '{}': tls=required needs tls.certificate", text)};
  }
  for (const char* key : {"tls.key", "tls.client_ca", "tls.client_certificates"}) {
    const Kind& kind = FindOption(key)->kind;
    if (kind.get(config) == kind.get(Config())) continue;
    return {Code::kInvalid,
            fmt::format("{} '{}': needs tls.certificate", key, kind.get(config).front())};
  }
  return {};
}

// Whether other machines may reach an address of `admin`.
bool IsOpen(std::string_view admin) {
  const std::string_view host = admin.substr(0, admin.rfind(':'));
  return admin.find(':') != std::string_view::npos && !host.empty() && host != "unix" &&
         host != "localhost" && host != "[::1]" && !host.starts_with("127.");
}

void DoubtAccess(const Config& config, std::vector<std::string>& doubts) {
  const Config::Console& console = config.console;
  if (!console.enabled || !console.users.empty() || !console.anonymous.empty()) return;
  for (const std::string& text : config.admin) {
    if (!IsOpen(text.substr(0, text.find(',')))) continue;
    doubts.push_back(
        fmt::format("admin address '{}': API and console refuse all callers there: set "
                    "console.users or console.anonymous, or console.enabled to false",
                    text));
  }
}

// Whether other machines reach a listener without TLS: not on loopback addresses and Unix sockets.
bool OthersReach(const std::string& text) {
  const Result<ListenAddress> address = ListenAddress::Parse(text);
  if (!address.ok() || !address.value().path.empty()) return false;
  const std::string& host = address.value().host;
  const bool local = host == "localhost" || host == "::1" || host.starts_with("127.");
  return !local && address.value().tls != TlsUse::kRequired;
}

// Of seconds since 1970, in UTC.
std::string DateOf(std::uint64_t seconds) {
  const absl::Time time = absl::FromUnixSeconds(static_cast<std::int64_t>(seconds));
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

}  // namespace

std::vector<std::string> DoubtsAbout(const Config& config) {
  std::vector<std::string> doubts;
  for (const std::string& rule : config.rights) {
    const std::string who = rule.substr(0, rule.find(' '));
    if (!who.starts_with("listen=")) continue;
    const bool served = std::any_of(
        config.listen.begin(), config.listen.end(),
        [&](const std::string& text) { return "listen=" + text.substr(0, text.find(',')) == who; });
    if (served) continue;
    doubts.push_back(fmt::format("rights '{}': no entry of listen has this address", rule));
  }
  DoubtAccess(config, doubts);
  for (const std::string& text : config.listen) {
    if (!config.rights.empty() || !OthersReach(text)) continue;
    doubts.push_back(fmt::format(
        "listen address '{}': other hosts reach it without TLS, and everybody may do everything: "
        "use tls=required, rights or a firewall",
        text));
  }
  if (config.tls.client_certificates != TlsFiles::ClientCertificates::kRequired) return doubts;
  for (const std::string& text : config.listen) {
    if (text.find(",tls=") != std::string::npos) continue;
    doubts.push_back(
        fmt::format("listen address '{}': takes plain text, too, and then no certificate is "
                    "required: say tls=required, or tls=allowed if that is meant",
                    text));
  }
  return doubts;
}

Result<std::shared_ptr<const TlsContext>> LoadTls(const Config& config) {
  if (!config.tls.certificate.empty()) return TlsContext::Load(config.tls);
  GS_TRY(NeedsNoTls(config));
  return std::shared_ptr<const TlsContext>();
}

Result<Security> LoadSecurity(const Config& config) {
  auto tls = GS_TRY(LoadTls(config));
  AccessRules access = GS_TRY(AccessRules::Parse(config.rights));
  return Security{std::move(tls), std::move(access)};
}

void LogCertificates(const TlsContext* before, const TlsContext* now) {
  if (now == nullptr || (before != nullptr && before->certificates() == now->certificates()))
    return;
  for (const TlsCertificate& each : now->certificates()) {
    Log(LogLevel::kInfo, "certificate in use",
        {{"option", each.option},
         {"subject", each.subject},
         {"serial", each.serial},
         {"ends", DateOf(each.ends)}});
  }
}

}  // namespace gearstalk
