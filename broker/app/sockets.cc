#include "broker/app/sockets.h"

#include <fmt/format.h>

#include <algorithm>

#include "broker/base/log.h"
#include "broker/process/systemd.h"

namespace gearstalk {
namespace {

// How the broker serves a socket that another process bound: as the entry of `listen` with its
// address says, else by its name, "beanstalk" or "gearman", else in all protocols.
Result<ListenAddress> AddressOf(const systemd::PassedSocket& passed, const Config& config) {
  const std::string bound = ListenSocket::NameOf(passed.fd);
  if (bound == "unix:") return ListenAddress();  // refused when it is adopted
  for (const std::string& text : config.listen) {
    if (text.substr(0, text.find(',')) == bound) return ListenAddress::Parse(text);
  }
  const bool named = passed.name == "beanstalk" || passed.name == "gearman";
  return ListenAddress::Parse(named ? fmt::format("{},protocols={}", bound, passed.name) : bound);
}

// Options such as tls=required that no passed socket has got.
void WarnOfOptionsWithoutEffect(const ListenSockets& sockets, const Config& config) {
  for (const std::string& text : config.listen) {
    const std::size_t comma = text.find(',');
    const bool passed = std::any_of(sockets.begin(), sockets.end(), [&](const auto& socket) {
      return socket->name() == text.substr(0, comma);
    });
    if (comma == std::string::npos || passed) continue;
    Log(LogLevel::kWarning,
        fmt::format("listen address '{}': no socket that the service manager passed has this "
                    "address: its options have no effect",
                    text));
  }
}

Result<ListenSockets> Adopt(const std::vector<systemd::PassedSocket>& all, const Config& config) {
  ListenSockets sockets;
  for (const systemd::PassedSocket& passed : all) {
    const ListenAddress address = GS_TRY(AddressOf(passed, config));
    sockets.emplace_back() = GS_TRY(ListenSocket::Adopt(passed.fd, address));
  }
  WarnOfOptionsWithoutEffect(sockets, config);
  return sockets;
}

// Nobody asked for the IPv6 addresses of the default.
bool MayBeMissing(const ListenAddress& address, const Status& failed, const Config& config) {
  return failed.code() == Code::kNotFound && address.host == "::1" &&
         config.listen == Config().listen;
}

}  // namespace

std::size_t RoutersOf(const Config& config, std::size_t cpus) {
  constexpr std::size_t kMost = 8;
  if (config.routers != Config::kAutoRouters) return config.routers;
  return cpus < 3 ? 0 : std::min(cpus - 1, kMost);
}

Result<ListenSockets> OpenSockets(const Config& config) {
  if (const auto passed = systemd::PassedSockets(); !passed.empty()) {
    if (config.Replicated()) {
      return Status(Code::kInUse,
                    fmt::format("{}: a socket unit passed {}, which takes clients also "
                                "while this broker is a standby; disable the socket unit",
                                config.ReplicatedBy(), ListenSocket::NameOf(passed.front().fd)));
    }
    return Adopt(passed, config);
  }
  ListenSockets sockets;
  for (const std::string& text : config.listen) {
    ListenAddress address = GS_TRY(ListenAddress::Parse(text));
    // It may be an address that moves to whichever broker serves.
    address.not_here_yet = config.Replicated();
    address.sockets = std::max<std::size_t>(RoutersOf(config), 1);
    auto bound = ListenSocket::OpenAll(address);
    if (!bound.ok() && MayBeMissing(address, bound.status(), config)) continue;
    if (!bound.ok()) return bound.status();
    for (auto& socket : bound.value()) sockets.push_back(std::move(socket));
  }
  return sockets;
}

Result<ListenAddress> ParseAdminAddress(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const bool port_alone = !text.starts_with("unix:") && (colon == 0 || colon == std::string::npos);
  const bool number = text.find_first_not_of("0123456789", colon == 0 ? 1 : 0) == std::string::npos;
  const bool options =
      text.find(",tls=") != std::string::npos || text.find(",protocols=") != std::string::npos;
  if (options) {
    return Status(
        Code::kInvalid,
        fmt::format("admin address '{}': what follows a comma is owner=, group= or mode=", text));
  }
  return ListenAddress::Parse(
      port_alone && number ? "127.0.0.1:" + text.substr(colon == 0 ? 1 : 0) : text,
      "admin address");
}

Result<ListenSockets> OpenAdminSockets(const Config& config) {
  ListenSockets sockets;
  for (const std::string& text : config.admin) {
    const ListenAddress address = GS_TRY(ParseAdminAddress(text));
    auto bound = GS_TRY(ListenSocket::OpenAll(address));
    for (auto& socket : bound) sockets.push_back(std::move(socket));
  }
  return sockets;
}

}  // namespace gearstalk
