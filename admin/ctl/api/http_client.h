#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admin/ctl/api/settings.h"

namespace gearstalk::ctl::api {

struct HttpRequest {
  std::string method = "GET";
  std::string path;  // behind the server's base, with the query
  std::string body = {};
  std::vector<std::string> headers = {};
  // Gets the body piece by piece; false ends the transfer. Without it the reply has the body.
  std::function<bool(std::string_view piece)> on_data = {};
};

struct HttpReply {
  int status = 0;
  std::string body;
};

// A client of one server over TCP, TLS or a Unix socket. Blocks.
class HttpClient {
 public:
  explicit HttpClient(const Settings& settings);

  // Errors: the server could not be reached, or the answer did not come in time.
  Result<HttpReply> Send(const HttpRequest& request);

 private:
  const Settings& settings_;
  const std::unique_ptr<void, void (*)(void*)> curl_;  // CURL
};

// Percent-encodes everything but letters, digits and "-._~".
std::string UrlEncoded(const std::string& text);

}  // namespace gearstalk::ctl::api
