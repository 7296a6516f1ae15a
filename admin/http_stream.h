#pragma once

#include <functional>
#include <memory>
#include <string>

#include "admin/http_body.h"

struct event;
struct event_base;
struct evhttp_connection;
struct evhttp_request;

namespace gearstalk {

// Sends a body while it is made. The next slice is made when the last one has gone to the socket,
// so a peer that reads slowly costs one slice of memory.
class HttpStream {
 public:
  // `request` has its headers. `on_end` is called once, and may delete the stream.
  HttpStream(event_base* base, evhttp_request* request, int status, std::unique_ptr<HttpBody> body,
             std::function<void(HttpStream&)> on_end);
  // The request, if it has not ended, is left to the server that is going.
  ~HttpStream();
  HttpStream(const HttpStream&) = delete;
  HttpStream& operator=(const HttpStream&) = delete;

  // Sends this first.
  void Begin(const std::string& text);

 private:
  void Later();
  void Step();
  void Send(const std::string& text);
  void End();
  void OnClosed();

  evhttp_request* const request_;
  evhttp_connection* connection_;  // nullptr when the request has ended
  std::unique_ptr<HttpBody> body_;
  std::function<void(HttpStream&)> on_end_;
  event* const later_;
};

}  // namespace gearstalk
