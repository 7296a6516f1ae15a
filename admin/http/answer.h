#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/lsn.h"

namespace gearstalk {

// The body of an answer that is made in slices, at most one in a round of the loop.
class HttpBody {
 public:
  virtual ~HttpBody() = default;
  // Appends the next slice, which may be empty, to `out`. False: that was the last.
  virtual bool Advance(std::string& out) = 0;
  // Whether the rest is lost: the connection ends before the answer is complete.
  virtual bool broken() const { return false; }
};

struct HttpAnswer;

// An answer that takes several slices to make. Destroyed when its peer has gone.
class HttpTask {
 public:
  virtual ~HttpTask() = default;
  // One slice of the work. Nothing: there is more to do.
  virtual std::optional<HttpAnswer> Advance(Time now) = 0;
};

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

struct HttpAnswer {
  using Headers = std::vector<std::pair<std::string, std::string>>;

  int status = 200;
  std::string type = "text/plain; charset=utf-8";  // empty: no such header
  std::string body{};
  std::string request_id{};  // the X-Request-Id
  Headers headers{};
  Lsn lsn = 0;                       // leaves when this is durable
  std::unique_ptr<HttpBody> rest{};  // what comes behind `body`
  std::unique_ptr<HttpTask> task{};  // makes the answer; all other members are ignored
  std::unique_ptr<HttpFeed> feed{};  // writes behind `body`
};

std::string_view ReasonOf(int status);

}  // namespace gearstalk
