#include "admin/http_stream.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

#include <utility>

namespace gearstalk {

HttpStream::HttpStream(event_base* base, evhttp_request* request, int status,
                       std::unique_ptr<HttpBody> body, std::function<void(HttpStream&)> on_end)
    : request_(request),
      connection_(evhttp_request_get_connection(request)),
      body_(std::move(body)),
      on_end_(std::move(on_end)),
      later_(event_new(
          base, -1, 0, [](int, short, void* self) { static_cast<HttpStream*>(self)->Step(); },
          this)) {
  evhttp_connection_set_closecb(
      connection_,
      [](evhttp_connection*, void* self) { static_cast<HttpStream*>(self)->OnClosed(); }, this);
  evhttp_send_reply_start(request_, status, nullptr);
}

HttpStream::~HttpStream() {
  event_free(later_);
  if (connection_ != nullptr) evhttp_connection_set_closecb(connection_, nullptr, nullptr);
}

void HttpStream::Begin(const std::string& text) { text.empty() ? Later() : Send(text); }

// A timer that is due, unlike an active event, waits for the next round of the loop.
void HttpStream::Later() {
  constexpr timeval kAtOnce = {0, 0};
  event_add(later_, &kAtOnce);
}

void HttpStream::Step() {
  std::string slice;
  const bool more = body_->Advance(slice);
  if (!more) body_.reset();
  if (!slice.empty()) {
    Send(slice);
  } else if (more) {
    Later();
  } else {
    End();
  }
}

void HttpStream::Send(const std::string& text) {
  evbuffer* buffer = evbuffer_new();
  evbuffer_add(buffer, text.data(), text.size());
  evhttp_send_reply_chunk_with_cb(
      request_, buffer,
      [](evhttp_connection*, void* self) {
        auto& stream = *static_cast<HttpStream*>(self);
        stream.body_ == nullptr ? stream.End() : stream.Later();
      },
      this);
  evbuffer_free(buffer);
}

void HttpStream::End() {
  evhttp_connection_set_closecb(std::exchange(connection_, nullptr), nullptr, nullptr);
  evhttp_send_reply_end(request_);
  on_end_(*this);
}

// A request that its connection has let go of is ours to end.
void HttpStream::OnClosed() {
  if (evhttp_request_get_connection(request_) == nullptr) evhttp_send_reply_end(request_);
  on_end_(*this);
}

}  // namespace gearstalk
