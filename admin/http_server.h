#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admin/http_body.h"
#include "broker/base/status.h"

struct event_base;
struct evhttp;
struct evhttp_request;

namespace gearstalk {

class HttpStream;

struct HttpAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
  std::unique_ptr<HttpBody> rest = {};  // what comes behind `body`, if it is not nullptr
};

using HttpQuery = std::map<std::string, std::string, std::less<>>;

// The pages for operators, over HTTP on the loop's thread: GET and HEAD only, small requests only,
// and a peer that neither reads nor writes is dropped. Whoever can connect can read them all.
class HttpServer {
 public:
  using Page = std::function<HttpAnswer(const HttpQuery& query)>;
  // Answers that are made in slices at the same time, at most.
  static constexpr std::size_t kMaxStreams = 8;

  // `address` is an HttpAddress; port 0 takes a free one. `base` outlives the server.
  static Result<std::unique_ptr<HttpServer>> Open(event_base* base, std::string_view address);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void Serve(const std::string& path, Page page) { pages_[path] = std::move(page); }
  void Serve(const std::string& path, std::function<HttpAnswer()> page) {
    pages_[path] = [page = std::move(page)](const HttpQuery&) { return page(); };
  }
  // With the port that was taken.
  const std::string& name() const { return name_; }

  // What a request is answered with; for the server itself and for tests.
  HttpAnswer Answer(std::string_view path, const HttpQuery& query = {}) const;

 private:
  HttpServer(event_base* base, evhttp* http);
  void Reply(evhttp_request* request);

  event_base* const base_;
  evhttp* const http_;
  std::map<std::string, Page, std::less<>> pages_;
  std::vector<std::unique_ptr<HttpStream>> streams_;
  std::string name_;
};

}  // namespace gearstalk
