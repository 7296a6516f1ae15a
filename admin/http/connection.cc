#include "admin/http/connection.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <iterator>
#include <utility>

#include "admin/http/server.h"

namespace gearstalk {
namespace {

constexpr std::size_t kReadAhead = 64 * 1024;  // bytes of later requests that are read
constexpr std::size_t kUnsent = 64 * 1024;     // bytes of answers; behind more no request is taken
constexpr std::size_t kSmallBody = 4096;       // bytes, of which every connection may have so many

}  // namespace

HttpConnection::HttpConnection(HttpServer& server, int fd, HttpPeer peer)
    : server_(server),
      events_(bufferevent_socket_new(server.base(), fd, BEV_OPT_CLOSE_ON_FREE)),
      peer_(std::move(peer)),
      active_at_(server.hooks().now()),
      request_since_(active_at_) {
  bufferevent_setcb(
      events_, [](bufferevent*, void* self) { static_cast<HttpConnection*>(self)->OnReadable(); },
      [](bufferevent*, void* self) { static_cast<HttpConnection*>(self)->OnWritten(); },
      [](bufferevent*, short what, void* self) {
        static_cast<HttpConnection*>(self)->OnEvent(what);
      },
      this);
  bufferevent_setwatermark(events_, EV_READ, 0, kReadAhead);
  bufferevent_enable(events_, EV_READ | EV_WRITE);
}

HttpConnection::~HttpConnection() {
  answer_ = {};
  EndSlices();
  bufferevent_free(events_);
}

bool HttpConnection::Overdue(Time now) const {
  const HttpLimits& limits = server_.limits();
  switch (state_) {
    case State::kReading:
      return now - active_at_ > limits.idle ||
             (parser_.begun() && now - request_since_ > limits.request);
    case State::kQueued:
    case State::kTask:
      return false;
    case State::kHeld:
      return server_.abandons_held();
    case State::kFeeding:
      return Waiting() > 0 && now - active_at_ > limits.feed_idle;
    case State::kStreaming:
      return Waiting() > 0 && now - active_at_ > limits.idle;
    case State::kSending:
      return Waiting() == 0 || now - active_at_ > limits.idle;
    case State::kLingering:
      return now - active_at_ > limits.idle || now - request_since_ > limits.request;
  }
  return false;
}

bool HttpConnection::Busy() const {
  const bool answers = state_ == State::kTask || state_ == State::kHeld ||
                       state_ == State::kStreaming || state_ == State::kFeeding;
  return answers && !probe_;
}

bool HttpConnection::WaitsForPeer() const {
  if (state_ != State::kReading && state_ != State::kStreaming && state_ != State::kSending &&
      state_ != State::kLingering) {
    return false;
  }
  const int fd = bufferevent_getfd(events_);
  int bytes = 0;
  if (Waiting() > 0) return ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
  return state_ != State::kStreaming && ioctl(fd, FIONREAD, &bytes) == 0 && bytes == 0;
}

Time HttpConnection::waits_since() const {
  return state_ == State::kReading || state_ == State::kLingering ? request_since_ : active_at_;
}

std::size_t HttpConnection::Bytes() const {
  return Waiting() + evbuffer_get_length(bufferevent_get_input(events_)) + body_ +
         parser_.body_bytes() + answer_.body.size();
}

// Bytes that come while nothing of the peer is wanted do not count as life.
void HttpConnection::OnReadable() {
  server_.hooks().begin_round();
  if (Takes() || state_ == State::kLingering) active_at_ = server_.hooks().now();
  if (draining_) {
    evbuffer* input = bufferevent_get_input(events_);
    evbuffer_drain(input, evbuffer_get_length(input));
    return;
  }
  Read();
}

void HttpConnection::OnWritten() {
  server_.hooks().begin_round();
  active_at_ = server_.hooks().now();
  if (state_ == State::kStreaming) return server_.slices().Add(*this);
  if (state_ == State::kReading) return Read();
  if (state_ != State::kSending) return;
  if (!draining_ || eof_) return server_.Remove(*this);
  // A close with bytes unread would reset the connection before the peer has read the answer.
  shutdown(bufferevent_getfd(events_), SHUT_WR);
  state_ = State::kLingering;
}

// A peer that shut down its sending side is taken for gone: HTTP clients do not half-close.
void HttpConnection::OnEvent(short what) {
  server_.hooks().begin_round();
  const bool ended = (what & BEV_EVENT_EOF) != 0 && (what & BEV_EVENT_ERROR) == 0;
  eof_ = true;
  keep_alive_ = false;
  if (ended && state_ == State::kReading && Waiting() > 0) state_ = State::kSending;
  const bool answered =
      state_ == State::kQueued || state_ == State::kSending || state_ == State::kHeld;
  if (!ended || !answered) server_.Remove(*this);
}

// Also reads what came behind the last request. It waits while an answer is made, and until the
// peer has taken enough of the last ones; behind a feed or a refusal it is dropped, because nothing
// there is answered. At the limit of reading ahead, reading has to stop: libevent would call
// OnReadable again and again within one turn of its loop.
void HttpConnection::Read() {
  while (Takes() && TakeRequest()) continue;
  evbuffer* const input = bufferevent_get_input(events_);
  if (state_ == State::kFeeding || draining_) evbuffer_drain(input, evbuffer_get_length(input));
  const bool reads = Takes() || evbuffer_get_length(input) < kReadAhead;
  if (reads == ((bufferevent_get_enabled(events_) & EV_READ) != 0)) return;
  reads ? bufferevent_enable(events_, EV_READ) : bufferevent_disable(events_, EV_READ);
}

bool HttpConnection::Takes() const { return state_ == State::kReading && Waiting() < kUnsent; }

// True: a request was complete, and a slice will answer it.
bool HttpConnection::TakeRequest() {
  evbuffer* const input = bufferevent_get_input(events_);
  const bool begun = parser_.begun();
  while (parser_.state() == HttpParser::State::kHead ||
         parser_.state() == HttpParser::State::kBody) {
    const std::size_t there = evbuffer_get_contiguous_space(input);
    if (there == 0) break;
    const char* const bytes =
        reinterpret_cast<const char*>(evbuffer_pullup(input, static_cast<ev_ssize_t>(there)));
    const bool in_head = parser_.state() == HttpParser::State::kHead;
    const std::size_t used = parser_.Take({bytes, there});
    evbuffer_drain(input, used);
    if (!in_head || parser_.state() != HttpParser::State::kBody || TakeHead()) continue;
    Refuse(503);
    return true;
  }
  if (!begun) request_since_ = server_.hooks().now();
  if (parser_.state() == HttpParser::State::kBad) {
    Refuse(parser_.status());
    return true;
  }
  if (parser_.state() != HttpParser::State::kDone) return false;
  state_ = State::kQueued;
  server_.slices().Add(*this);
  return true;
}

// False: the server has no memory for the body now.
bool HttpConnection::TakeHead() {
  parser_.request().peer = peer_;
  parser_.set_max_body(server_.site().MaxBody(parser_.request()));
  if (parser_.state() != HttpParser::State::kBody) return true;
  if (parser_.max_body() > kSmallBody && server_.Crowded(peer_.unix)) return false;
  if (parser_.expects_continue()) Write("HTTP/1.1 100 Continue\r\n\r\n");
  return true;
}

void HttpConnection::Dispatch() {
  HttpRequest& request = parser_.request();
  keep_alive_ = request.keep_alive && !eof_;
  head_only_ = request.method == "HEAD";
  chunked_ = request.chunked_answers;
  body_ = request.body.size();
  probe_ = server_.site().Probes(request);
  const bool refused = !probe_ && server_.Crowded(peer_.unix);
  Take(refused ? server_.site().Refuse(503, request) : server_.site().Answer(request));
}

// Closes the connection, because the end of the refused request is unknown.
void HttpConnection::Refuse(int status) {
  parser_.request().peer = peer_;
  keep_alive_ = false;
  draining_ = true;
  head_only_ = parser_.request().method == "HEAD";
  Take(server_.site().Refuse(status, parser_.request()));
}

void HttpConnection::Take(HttpAnswer answer) {
  const bool sliced = answer.task || answer.rest;
  if ((sliced || answer.feed != nullptr) && eof_) return Finish();
  if (sliced) {
    if (!sliced_ && !server_.TakeSlot(probe_)) {
      answer = server_.site().Refuse(503, parser_.request());
    } else {
      sliced_ = true;
    }
  }
  answer_ = std::move(answer);
  if (answer_.task) {
    state_ = State::kTask;
    return server_.slices().Add(*this);
  }
  if (answer_.lsn > server_.hooks().durable()) {
    state_ = State::kHeld;
    return;
  }
  Deliver();
}

void HttpConnection::OnDurable() {
  if (state_ != State::kHeld || answer_.lsn > server_.hooks().durable()) return;
  Deliver();
  Read();
}

std::string HttpConnection::HeadOf(const HttpAnswer& answer, bool chunked, bool bodiless) const {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", answer.status, ReasonOf(answer.status));
  const auto out = std::back_inserter(head);
  if (!answer.type.empty() && !bodiless) {
    fmt::format_to(out, "Content-Type: {}\r\n", answer.type);
  }
  for (const auto& [name, value] : answer.headers) {
    fmt::format_to(out, "{}: {}\r\n", name, value);
  }
  if (!answer.request_id.empty()) {
    fmt::format_to(out, "X-Request-Id: {}\r\n", answer.request_id);
  }
  if (chunked) {
    head += "Transfer-Encoding: chunked\r\n";
  } else if (!bodiless && !answer.rest && answer.feed == nullptr) {
    fmt::format_to(out, "Content-Length: {}\r\n", answer.body.size());
  }
  head += keep_alive_ ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return head;
}

void HttpConnection::Deliver() {
  active_at_ = server_.hooks().now();
  const bool bodiless = answer_.status == 204 || answer_.status == 304;
  const bool grows = answer_.rest || answer_.feed != nullptr;
  // Without chunks the end of the connection marks the end of the body.
  if (grows && !chunked_) keep_alive_ = false;
  chunked_ = chunked_ && grows && !bodiless;
  Write(HeadOf(answer_, chunked_ && !head_only_, bodiless));
  if (head_only_ || bodiless || !grows) {
    if (!head_only_ && !bodiless) Write(answer_.body);
    return Finish();
  }
  if (!answer_.body.empty()) WriteChunk(answer_.body);
  if (answer_.feed != nullptr) {
    state_ = State::kFeeding;
    return answer_.feed->Begin(*this);
  }
  state_ = State::kStreaming;
  server_.slices().Add(*this);
}

bool HttpConnection::RunSlice(Time /*now*/) {
  if (state_ == State::kQueued) {
    Dispatch();
    Read();
    return false;
  }
  if (state_ == State::kTask) {
    if (answer_.task.Advance()) return true;
    Take(std::move(*answer_.task.made().result));
    Read();
    return false;
  }
  // The last slice has not been sent yet: OnWritten continues.
  if (state_ != State::kStreaming || Waiting() > 0) return false;
  const bool more = answer_.rest.Advance();
  const auto piece = std::exchange(answer_.rest.made().piece, std::nullopt);
  if (!more && !piece) {
    keep_alive_ = false;
    Finish();
    return false;
  }
  const bool nothing = !piece || piece->empty();
  if (!nothing) WriteChunk(*piece);
  if (more) return nothing;
  if (chunked_) Write("0\r\n\r\n");
  Finish();
  Read();
  return false;
}

void HttpConnection::Write(std::string_view bytes) {
  bufferevent_write(events_, bytes.data(), bytes.size());
}

void HttpConnection::WriteChunk(std::string_view bytes) {
  if (chunked_) Write(fmt::format("{:x}\r\n", bytes.size()));
  Write(bytes);
  if (chunked_) Write("\r\n");
}

void HttpConnection::Send(std::string_view text) {
  if (state_ == State::kFeeding && !text.empty()) WriteChunk(text);
}

std::size_t HttpConnection::Waiting() const {
  return evbuffer_get_length(bufferevent_get_output(events_));
}

// The feed may be the caller, so it ends only when everything that it wrote was sent.
void HttpConnection::End() {
  if (state_ != State::kFeeding) return;
  if (chunked_) Write("0\r\n\r\n");
  keep_alive_ = false;
  state_ = State::kSending;
}

void HttpConnection::Finish() {
  EndSlices();
  answer_ = {};
  body_ = 0;
  probe_ = false;
  active_at_ = server_.hooks().now();
  if (!keep_alive_) {
    state_ = State::kSending;
    return;
  }
  state_ = State::kReading;
  parser_ = HttpParser();
  request_since_ = active_at_;
}

void HttpConnection::EndSlices() {
  server_.slices().Remove(*this);
  if (std::exchange(sliced_, false)) server_.GiveSlot();
}

}  // namespace gearstalk
