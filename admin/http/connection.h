#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "admin/http/answer.h"
#include "admin/http/parser.h"
#include "admin/http/slices.h"

struct bufferevent;

namespace gearstalk {

class HttpServer;

// One connection: reads a request, gets the answer from the site, sends it, and reads the next
// request. Each answer takes a slice at least, so that no burst of requests holds the loop. Owned
// by the server.
class HttpConnection final : public HttpSink, public SliceWork {
 public:
  HttpConnection(HttpServer& server, int fd, HttpPeer peer);
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  const HttpPeer& peer() const { return peer_; }
  bool Overdue(Time now) const;
  bool held() const { return state_ == State::kHeld; }
  bool sliced() const { return sliced_; }
  // Whether an answer is under way for which the peer is not to blame.
  bool Busy() const;
  // Whether nothing goes on until the peer sends or takes bytes: the kernel has none for either.
  bool WaitsForPeer() const;
  Time waits_since() const;
  // What it holds in memory of its request and of unsent answers.
  std::size_t Bytes() const;
  // Sends an answer that waited for the durable position.
  void OnDurable();

  // --- HttpSink
  void Send(std::string_view text) override;
  std::size_t Waiting() const override;
  void End() override;

  // --- SliceWork
  bool RunSlice(Time now) override;

 private:
  enum class State : std::uint8_t {
    kReading,    // a request, or the wait for one
    kQueued,     // the request is whole; its answer is the next slice's
    kTask,       // the answer is being found
    kHeld,       // the answer waits to be durable
    kStreaming,  // more of the body is to be made
    kFeeding,    // a feed writes the body
    kSending,    // the end of an answer, after which the connection closes
    kLingering,  // all is sent; what the peer still sends is dropped until it has read the answer
  };

  void OnReadable();
  void OnWritten();
  void OnEvent(short what);
  void Read();
  // Whether the next request may be taken: little is unsent.
  bool Takes() const;
  bool TakeRequest();
  bool TakeHead();
  void Dispatch();
  void Refuse(int status);
  void Take(HttpAnswer answer);
  void Deliver();
  std::string HeadOf(const HttpAnswer& answer, bool chunked, bool bodiless) const;
  void Write(std::string_view bytes);
  void WriteChunk(std::string_view bytes);
  void Finish();
  void EndSlices();

  HttpServer& server_;
  bufferevent* const events_;
  const HttpPeer peer_;
  HttpParser parser_;
  HttpAnswer answer_;
  State state_ = State::kReading;
  bool head_only_ = false;
  bool keep_alive_ = true;
  bool chunked_ = false;
  bool sliced_ = false;  // has one of the server's slots
  bool probe_ = false;   // answers a request that is served when all else waits
  bool eof_ = false;
  bool draining_ = false;  // reads and drops what a refused peer still sends
  std::size_t body_ = 0;   // bytes of the request whose answer is made
  Time active_at_;         // last byte of a request read, or of an answer written or taken
  Time request_since_;     // first byte of the request
};

}  // namespace gearstalk
