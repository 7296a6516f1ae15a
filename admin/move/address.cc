#include "admin/move/address.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>

namespace gearstalk::ctl {
namespace {

// A number, or the name of a service.
bool IsPort(const std::string& text) {
  if (text.find_first_not_of("0123456789") != std::string::npos) return true;
  return !text.empty() && text.size() <= 5 && std::stoi(text) > 0 && std::stoi(text) <= UINT16_MAX;
}

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// None if nobody knows the name.
Addresses Resolve(const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  return {failed == 0 ? found : nullptr, ::freeaddrinfo};
}

// The numeric forms of an address.
std::set<std::string> Endpoints(const Address& address) {
  if (address.host.empty()) return {std::filesystem::weakly_canonical(address.path)};
  std::set<std::string> endpoints;
  const Addresses found = Resolve(address.host, address.port);
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
    char host[NI_MAXHOST], port[NI_MAXSERV];
    const int failed = ::getnameinfo(each->ai_addr, each->ai_addrlen, host, sizeof host, port,
                                     sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    if (failed == 0) endpoints.insert(std::string(host) + ' ' + port);
  }
  return endpoints;
}

}  // namespace

Result<Address> Address::Parse(const std::string& text) {
  Address address;
  address.text = text;
  if (text.starts_with("unix:/")) {
    address.path = text.substr(5);
    return address;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || !IsPort(text.substr(colon + 1)) || text.starts_with("unix:")) {
    return Status(Code::kInvalid, "'" + text + "': expected HOST:PORT or unix:/PATH");
  }
  address.host = text.substr(0, colon);
  address.port = text.substr(colon + 1);
  if (address.host.starts_with('[') && address.host.ends_with(']')) {
    address.host = address.host.substr(1, address.host.size() - 2);
  }
  if (address.host.empty()) address.host = "127.0.0.1";
  return address;
}

std::string AddressOf(const std::string& url) { return url.substr(url.find("://") + 3); }

bool SameEndpoint(const std::string& one, const std::string& other) {
  const Result<Address> first = Address::Parse(one), second = Address::Parse(other);
  if (!first.ok() || !second.ok()) return false;
  const std::set<std::string> ours = Endpoints(first.value()), theirs = Endpoints(second.value());
  return std::any_of(ours.begin(), ours.end(),
                     [&](const std::string& each) { return theirs.contains(each); });
}

Status CheckOther(const std::string& url, const std::string& address) {
  if (AddressOf(url) != address) return {};
  return {Code::kInvalid, "both servers are " + address};
}

Status Target::CheckDirectory() const {
  std::error_code error;
  if (data_dir.empty() || std::filesystem::is_directory(data_dir, error)) return {};
  return {Code::kIo, data_dir + ": no such directory"};
}

void Target::AddTo(Parameters& parameters, std::string_view flag, bool with_data_dir) {
  const char* const broker = std::getenv("GEARSTALK_BROKER");
  address = broker == nullptr || *broker == '\0' ? "127.0.0.1:11300" : broker;
  parameters.push_back(
      {flag, &address, "Address of the broker: HOST:PORT or unix:/PATH", {.value_in_help = true}});
  if (with_data_dir) {
    parameters.push_back(
        {"--data-dir", &data_dir, "Data directory in which no broker runs", {.excludes = flag}});
  }
  Rules tls_rules;
  if (with_data_dir) tls_rules.excludes = "--data-dir";
  parameters.push_back({"--tls", &tls, "Speak TLS", tls_rules});
  AddTlsFilesTo(parameters, {.needs = "--tls"});
}

void Target::AddTlsFilesTo(Parameters& parameters, const Rules& rules) {
  parameters.insert(
      parameters.end(),
      {{"--tls-ca", &tls_ca, "Authorities that sign the broker's certificate (PEM)", rules},
       {"--tls-certificate", &tls_certificate, "Certificate of this client (PEM)", rules},
       {"--tls-key", &tls_key, "Key of that certificate (PEM)", rules}});
}

}  // namespace gearstalk::ctl
