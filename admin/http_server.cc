#include "admin/http_server.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "admin/http_address.h"
#include "admin/http_stream.h"

namespace gearstalk {
namespace {

constexpr int kTimeout = 10;                      // seconds in which nothing is read or written
constexpr int kMaxHead = 8 * 1024;                // bytes
constexpr int kMaxBody = 1024;                    // bytes; nobody has anything to say
constexpr timeval kAcceptPause = {0, 100'000};    // when descriptors have run out
constexpr std::uint16_t kAnyMethod = UINT16_MAX;  // others than GET and HEAD get a 405 of ours

int PortOf(evhttp_bound_socket* bound) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(evhttp_bound_socket_get_fd(bound), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

HttpQuery ParseQuery(const evhttp_uri* uri) {
  HttpQuery query;
  const char* text = uri == nullptr ? nullptr : evhttp_uri_get_query(uri);
  evkeyvalq pairs{};
  if (text == nullptr || evhttp_parse_query_str(text, &pairs) != 0) return query;
  for (const evkeyval* pair = pairs.tqh_first; pair != nullptr; pair = pair->next.tqe_next) {
    query[pair->key] = pair->value;
  }
  evhttp_clear_headers(&pairs);
  return query;
}

void AddHeaders(evhttp_request* request, const HttpAnswer& answer) {
  evkeyvalq* headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Content-Type", answer.type.c_str());
  evhttp_add_header(headers, "Cache-Control", "no-store");
  evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
  if (answer.status == HTTP_BADMETHOD) evhttp_add_header(headers, "Allow", "GET, HEAD");
}

// A listener that cannot accept stays readable, and the loop would turn for nothing.
void PauseAccepting(evconnlistener* listener, void* /*http*/) {
  evconnlistener_disable(listener);
  event_base_once(
      evconnlistener_get_base(listener), -1, EV_TIMEOUT,
      [](int, short, void* paused) { evconnlistener_enable(static_cast<evconnlistener*>(paused)); },
      listener, &kAcceptPause);
}

}  // namespace

HttpServer::HttpServer(event_base* base, evhttp* http) : base_(base), http_(http) {
  evhttp_set_allowed_methods(http_, kAnyMethod);
  evhttp_set_timeout(http_, kTimeout);
  evhttp_set_max_headers_size(http_, kMaxHead);
  evhttp_set_max_body_size(http_, kMaxBody);
  evhttp_set_gencb(
      http_,
      [](evhttp_request* request, void* self) { static_cast<HttpServer*>(self)->Reply(request); },
      this);
}

HttpServer::~HttpServer() {
  streams_.clear();
  evhttp_free(http_);
}

Result<std::unique_ptr<HttpServer>> HttpServer::Open(event_base* base, std::string_view address) {
  const Result<HttpAddress> parsed = HttpAddress::Parse(address);
  if (!parsed.ok()) return parsed.status();
  const std::string& shown = parsed.value().host;
  std::string host = shown;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  std::unique_ptr<HttpServer> server(new HttpServer(base, evhttp_new(base)));
  evhttp_bound_socket* bound =
      evhttp_bind_socket_with_handle(server->http_, host.c_str(), parsed.value().port);
  if (bound == nullptr) {
    return Status(Code::kIo, fmt::format("cannot listen on {}: {}", address, std::strerror(errno)));
  }
  evconnlistener_set_error_cb(evhttp_bound_socket_get_listener(bound), PauseAccepting);
  server->name_ = fmt::format("{}:{}", shown, PortOf(bound));
  return server;
}

HttpAnswer HttpServer::Answer(std::string_view path, const HttpQuery& query) const {
  const auto page = pages_.find(path);
  if (page == pages_.end()) return {.status = HTTP_NOTFOUND, .body = "not found\n"};
  return page->second(query);
}

void HttpServer::Reply(evhttp_request* request) {
  const evhttp_uri* uri = evhttp_request_get_evhttp_uri(request);
  const char* path = uri == nullptr ? nullptr : evhttp_uri_get_path(uri);
  const auto method = evhttp_request_get_command(request);
  HttpAnswer answer;
  if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD) {
    answer = {.status = HTTP_BADMETHOD, .body = "only GET and HEAD\n"};
  } else {
    answer = Answer(path == nullptr ? "" : path, ParseQuery(uri));
  }
  if (answer.rest != nullptr && streams_.size() >= kMaxStreams) {
    answer = {.status = HTTP_SERVUNAVAIL, .body = "too many requests at a time\n"};
  }
  AddHeaders(request, answer);
  if (answer.rest != nullptr && method == EVHTTP_REQ_GET) {
    streams_.push_back(std::make_unique<HttpStream>(
        base_, request, answer.status, std::move(answer.rest), [this](HttpStream& ended) {
          std::erase_if(streams_, [&](const auto& stream) { return stream.get() == &ended; });
        }));
    streams_.back()->Begin(answer.body);
    return;
  }
  evbuffer* body = evbuffer_new();
  if (method != EVHTTP_REQ_HEAD) evbuffer_add(body, answer.body.data(), answer.body.size());
  evhttp_send_reply(request, answer.status, nullptr, body);
  evbuffer_free(body);
}

}  // namespace gearstalk
