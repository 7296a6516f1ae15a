#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "broker/base/status.h"

struct event_base;
struct evhttp;

namespace gearstalk {

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

// The pages for operators, over HTTP on the loop's thread: GET only, small requests only. Never
// meant for a network: bind it to loopback.
class HttpServer {
 public:
  using Page = std::function<HttpAnswer()>;

  // `address` is HOST:PORT; port 0 takes a free one. `base` outlives the server.
  static Result<std::unique_ptr<HttpServer>> Open(event_base* base, std::string_view address);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Answers GET of `path`, which has no query.
  void Serve(const std::string& path, Page page) { pages_[path] = std::move(page); }
  // With the port that was taken.
  const std::string& name() const { return name_; }

  // What a request is answered with; for the server itself and for tests.
  HttpAnswer Answer(std::string_view path) const;

 private:
  explicit HttpServer(evhttp* http);

  evhttp* http_;
  std::map<std::string, Page, std::less<>> pages_;
  std::string name_;
};

}  // namespace gearstalk
