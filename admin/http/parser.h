#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "admin/http/request.h"

namespace gearstalk {

// Parses one request of HTTP/1.0 or 1.1, which arrives in pieces. Knows no socket.
class HttpParser {
 public:
  static constexpr std::size_t kMaxHead = 8 * 1024;  // bytes, request line and headers

  enum class State : std::uint8_t {
    kHead,  // wants more of the head
    kBody,  // the head is complete: call set_max_body, and continue
    kDone,
    kBad,  // `status` says why; the bytes that follow cannot be parsed
  };

  // Consumes bytes from the front of `bytes` and returns their number. Stops at the end of the head
  // and at the end of the request.
  std::size_t Take(std::string_view bytes);

  State state() const { return state_; }
  int status() const { return status_; }
  // The largest body that is accepted; a larger one gets status 413.
  void set_max_body(std::size_t bytes);
  // The largest that the body may still turn out to be, in bytes.
  std::uint64_t max_body() const { return chunked_ ? max_body_ : length_; }
  std::size_t body_bytes() const { return request_.body.size(); }
  // Whether the peer waits for "100 Continue" before it sends the body.
  bool expects_continue() const { return expects_continue_; }
  // Whether a body was announced.
  bool has_body() const { return chunked_ || length_ > 0; }
  // Whether a part of a request has arrived.
  bool begun() const { return state_ != State::kHead || !head_.empty(); }

  HttpRequest& request() { return request_; }

 private:
  enum class Part : std::uint8_t { kChunkSize, kChunk, kChunkEnd, kTrailer };

  std::size_t TakeHead(std::string_view bytes);
  // Appends the bytes from `used` on to `head_`, up to the end of a line; returns their number.
  std::size_t TakeLinePart(std::string_view bytes, std::size_t& used);
  std::size_t TakeBody(std::string_view bytes);
  std::size_t TakeChunked(std::string_view bytes);
  bool TakeLine(std::string_view bytes, std::size_t& used);
  bool ParseHead();
  bool ParseRequestLine(std::string_view line);
  bool ParseTarget(std::string_view target);
  bool ParseQuery(std::string_view query);
  bool ParseHeader(std::string_view line);
  bool Understand();
  bool ParseChunkSize(std::string_view line);
  // What a line of a chunked body says, without its end.
  void EndLine(std::string_view line);
  bool Bad(int status);

  State state_ = State::kHead;
  int status_ = 0;
  std::string head_;  // the head so far; in a chunked body, the line so far
  HttpRequest request_;
  std::string_view authority_;  // of an absolute target, in head_
  bool expects_continue_ = false;
  bool chunked_ = false;
  Part part_ = Part::kChunkSize;
  std::uint64_t length_ = 0;  // of the body, or of what is left of a chunk
  std::size_t trailers_ = 0;  // bytes
  std::size_t max_body_ = 0;
};

}  // namespace gearstalk
