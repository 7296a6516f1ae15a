#include "broker/etcd/endpoints.h"

#include <fmt/format.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <utility>

#include "broker/base/split.h"
#include "broker/replica/store_files.h"

namespace gearstalk::etcd {
namespace {

const std::string kSystemCa = "/etc/ssl/certs/ca-certificates.crt";
constexpr int kMaxReceive = 64 << 20;  // bytes: a watch of many events may be long
// Set-up of a connection, of TCP, TLS and HTTP/2 together. Not more than it needs: TCP repeats its
// first packet after 1, 3 and 7 s, so a network that comes back is noticed later.
constexpr Time kLeastPatience = 2 * kSecond;

// `patience`: how long the set-up of a connection may take.
grpc::ChannelArguments Arguments(Time patience) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // etcd closes connections that ping more often than every 5 s.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 2'000);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, static_cast<int>(patience / kMillisecond));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetMaxReceiveMessageSize(kMaxReceive);
  arguments.SetMaxSendMessageSize(-1);
  return arguments;
}

}  // namespace

Result<EndpointName> EndpointName::Parse(std::string_view text) {
  const auto bad = [text](std::string_view why) {
    return Status(Code::kInvalid, fmt::format("etcd.endpoints: '{}': {}", text, why));
  };
  EndpointName name;
  std::string_view address = text;
  if (address.starts_with("https://")) {
    name.tls = true;
    address.remove_prefix(8);
  }
  const std::size_t colon = address.rfind(':');
  const bool other_scheme = !name.tls && address.find("//") != std::string_view::npos;
  if (other_scheme || colon == std::string_view::npos || colon == 0) {
    return bad("expected HOST:PORT or https://HOST:PORT");
  }
  std::uint16_t port = 0;
  if (!ParsePort(address.substr(colon + 1), port) || port == 0) {
    return bad("the port is a number from 1 to 65535");
  }
  const std::string_view host = address.substr(0, colon);
  const bool brackets = host.starts_with('[') && host.ends_with(']');
  if ((!brackets && host.find(':') != std::string_view::npos) ||
      host.find_first_of(" /,") != std::string_view::npos) {
    return bad("the host is a name, an IPv4 address, or an IPv6 address in brackets");
  }
  name.address = address;
  return name;
}

Status CheckEndpoints(const EtcdOptions& options) {
  bool tls = false;
  std::vector<std::string> seen;
  for (const std::string& text : options.endpoints) {
    const EndpointName name = GS_TRY(EndpointName::Parse(text));
    if (!seen.empty() && name.tls != tls) {
      return {Code::kInvalid, "etcd.endpoints: either all begin with https:// or none"};
    }
    if (std::find(seen.begin(), seen.end(), name.address) != seen.end()) {
      return {Code::kInvalid, fmt::format("etcd.endpoints: '{}' is there twice", text)};
    }
    tls = name.tls;
    seen.push_back(name.address);
  }
  if (options.prefix.empty() || options.prefix.back() != '/') {
    return {Code::kInvalid, fmt::format("etcd.prefix: '{}' must end with '/'", options.prefix)};
  }
  const bool files = !options.ca.empty() || !options.certificate.empty() || !options.key.empty();
  if (files && !tls) {
    return {Code::kInvalid, "etcd.ca, etcd.certificate and etcd.key need endpoints with https://"};
  }
  if (options.certificate.empty() && !options.key.empty()) {
    return {Code::kInvalid, "etcd.key needs etcd.certificate"};
  }
  if (options.user.empty() != options.password_file.empty()) {
    return {Code::kInvalid, "etcd.user and etcd.password_file go together"};
  }
  return {};
}

Result<EtcdSecrets> LoadSecrets(const EtcdOptions& options) {
  EtcdSecrets secrets;
  if (!options.password_file.empty()) {
    secrets.password = GS_TRY(ReadPassword("etcd.password_file", options.password_file));
  }
  if (options.endpoints.empty() || !options.endpoints.front().starts_with("https://")) {
    return secrets;
  }
  const struct {
    const char* option;
    const std::string& path;
    std::string& text;
  } files[] = {{"etcd.ca", options.ca.empty() ? kSystemCa : options.ca, secrets.ca},
               {"etcd.certificate", options.certificate, secrets.certificate},
               {"etcd.key", options.key.empty() ? options.certificate : options.key, secrets.key}};
  for (const auto& file : files) file.text = GS_TRY(ReadPem(file.option, file.path));
  return secrets;
}

Endpoints::Endpoints(const EtcdOptions& options, const EtcdSecrets& secrets)
    : secrets_(secrets), patience_(std::max(kLeastPatience, options.lease)) {
  for (const std::string& text : options.endpoints) {
    order_.push_back(all_.size());
    all_.emplace_back();
    all_.back().name = std::move(EndpointName::Parse(text).value());
    Connect(all_.back());
  }
}

void Endpoints::Connect(Endpoint& endpoint) {
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (endpoint.name.tls) {
    credentials = grpc::SslCredentials({secrets_.ca, secrets_.key, secrets_.certificate});
  }
  for (Connection* const each : {&endpoint.data, &endpoint.beats}) {
    each->channel =
        grpc::CreateCustomChannel(endpoint.name.address, credentials, Arguments(patience_));
    each->stub = std::make_unique<grpc::GenericStub>(each->channel);
  }
  endpoint.overtaken = 0;
}

void Endpoints::OnOvertaken(std::size_t endpoint) {
  if (++all_[endpoint].overtaken < 2) return;
  PutLast(endpoint);
  Connect(all_[endpoint]);
}

void Endpoints::PutFirst(std::size_t endpoint) {
  const auto at = std::find(order_.begin(), order_.end(), endpoint);
  std::rotate(order_.begin(), at, at + 1);
}

void Endpoints::PutLast(std::size_t endpoint) {
  const auto at = std::find(order_.begin(), order_.end(), endpoint);
  std::rotate(at, at + 1, order_.end());
}

void Endpoints::Reconnect(const EtcdSecrets& secrets) {
  secrets_ = secrets;
  for (Endpoint& endpoint : all_) Connect(endpoint);
}

}  // namespace gearstalk::etcd
