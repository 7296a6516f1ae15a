#include "admin/http_server.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace gearstalk {
namespace {

constexpr int kTimeout = 10;        // seconds for a whole request
constexpr int kMaxHead = 8 * 1024;  // bytes
constexpr int kMaxBody = 1024;      // bytes; nobody has anything to say

Status Bad(std::string_view address, std::string_view why) {
  return {Code::kInvalid, fmt::format("admin address '{}': {}", address, why)};
}

int PortOf(evhttp_bound_socket* bound) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(evhttp_bound_socket_get_fd(bound), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

void OnRequest(evhttp_request* request, void* context) {
  const char* path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request));
  const HttpAnswer answer = static_cast<HttpServer*>(context)->Answer(path == nullptr ? "" : path);
  evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
                    answer.type.c_str());
  evbuffer* body = evbuffer_new();
  evbuffer_add(body, answer.body.data(), answer.body.size());
  evhttp_send_reply(request, answer.status, nullptr, body);
  evbuffer_free(body);
}

}  // namespace

HttpServer::HttpServer(evhttp* http) : http_(http) {
  evhttp_set_allowed_methods(http_, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
  evhttp_set_timeout(http_, kTimeout);
  evhttp_set_max_headers_size(http_, kMaxHead);
  evhttp_set_max_body_size(http_, kMaxBody);
  evhttp_set_gencb(http_, OnRequest, this);
}

HttpServer::~HttpServer() { evhttp_free(http_); }

Result<std::unique_ptr<HttpServer>> HttpServer::Open(event_base* base, std::string_view address) {
  const auto colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return Bad(address, "expected HOST:PORT");
  std::string host(address.substr(0, colon));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::string_view digits = address.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), port);
  if (error != std::errc() || end != digits.end() || digits.empty()) {
    return Bad(address, "the port is a number from 0 to 65535");
  }
  std::unique_ptr<HttpServer> server(new HttpServer(evhttp_new(base)));
  evhttp_bound_socket* bound = evhttp_bind_socket_with_handle(server->http_, host.c_str(), port);
  if (bound == nullptr) {
    return Status(Code::kIo, fmt::format("cannot listen on {}: {}", address, std::strerror(errno)));
  }
  server->name_ = fmt::format("{}:{}", address.substr(0, colon), PortOf(bound));
  return server;
}

HttpAnswer HttpServer::Answer(std::string_view path) const {
  const auto page = pages_.find(path);
  if (page == pages_.end()) return {404, "text/plain; charset=utf-8", "not found\n"};
  return page->second();
}

}  // namespace gearstalk
