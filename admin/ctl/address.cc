#include "admin/ctl/address.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>

namespace gearstalk::ctl {
namespace {

// A number, or the name of a service.
bool IsPort(const std::string& text) {
  if (text.find_first_not_of("0123456789") != std::string::npos) return true;
  return !text.empty() && text.size() <= 5 && std::stoi(text) > 0 && std::stoi(text) <= UINT16_MAX;
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

Status CheckOther(const std::string& url, const std::string& address) {
  if (url.substr(url.find("://") + 3) != address) return {};
  return {Code::kInvalid, "both servers are " + address};
}

Status Target::CheckDirectory() const {
  std::error_code error;
  if (data_dir.empty() || std::filesystem::is_directory(data_dir, error)) return {};
  return {Code::kIo, data_dir + ": no such directory"};
}

void Target::AddOptions(CLI::App& app, const std::string& flag, bool with_data_dir) {
  const char* const broker = std::getenv("GEARSTALK_BROKER");
  address = broker == nullptr || *broker == '\0' ? "127.0.0.1:11300" : broker;
  auto* to = app.add_option(flag, address, "Address of the broker: HOST:PORT or unix:/PATH");
  to->capture_default_str();
  if (with_data_dir) {
    app.add_option("--data-dir", data_dir, "Data directory in which no broker runs")->excludes(to);
  }
  AddTlsOptions(app);
}

void Target::AddTlsOptions(CLI::App& app) {
  app.add_flag("--tls", tls, "Speak TLS");
  app.add_option("--tls-ca", tls_ca, "Authorities that sign the broker's certificate (PEM)");
  app.add_option("--tls-certificate", tls_certificate, "Certificate of this client (PEM)");
  app.add_option("--tls-key", tls_key, "Key of that certificate (PEM)");
}

}  // namespace gearstalk::ctl
