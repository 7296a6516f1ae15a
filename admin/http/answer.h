#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/base/lsn.h"
#include "broker/base/slices.h"

namespace gearstalk {

// The body of an answer that is made in slices, at most one in a round of the loop: `co_yield`
// hands a piece over and ends a slice, `co_return` hands over the last one. `co_return
// std::nullopt`: the rest is lost, so the connection closes before the answer is complete.
struct MadePieces {
  std::optional<std::string> piece;  // of this slice
  std::suspend_always yield_value(std::string& next) {
    piece = std::move(next);
    return {};
  }
  void return_value(std::optional<std::string> last) { piece = std::move(last); }
};
using HttpBody = SlicesOf<MadePieces>;

struct HttpAnswer;

// An answer that takes several slices to make. Destroyed when its peer has gone.
using HttpTask = SlicesOf<MadeResult<HttpAnswer>>;

// Where a feed writes.
class HttpSink {
 public:
  virtual void Send(std::string_view text) = 0;
  // Bytes that the peer has not taken yet.
  virtual std::size_t Waiting() const = 0;
  // The answer ends here, and with it the feed, later in this round.
  virtual void End() = 0;

 protected:
  ~HttpSink() = default;
};

// An answer that goes on until one side ends it. Destroyed when its peer has gone.
class HttpFeed {
 public:
  virtual ~HttpFeed() = default;
  // `sink` outlives the feed.
  virtual void Begin(HttpSink& sink) = 0;
};

// What an answer says if it is all there at once.
struct HttpContent {
  using Headers = std::vector<std::pair<std::string, std::string>>;

  int status = 200;
  std::string type = "text/plain; charset=utf-8";  // empty: no such header
  std::string body{};
  Headers headers{};
  Lsn lsn = 0;  // leaves when this is durable
};

struct HttpAnswer : HttpContent {
  std::string request_id{};          // the X-Request-Id
  HttpBody rest{};                   // what comes behind `body`
  HttpTask task{};                   // makes the answer; all other members are ignored
  std::unique_ptr<HttpFeed> feed{};  // writes behind `body`
};

std::string_view ReasonOf(int status);

}  // namespace gearstalk
