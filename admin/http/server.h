#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admin/http/answer.h"
#include "admin/http/request.h"
#include "admin/http/slices.h"
#include "broker/base/status.h"

struct event;
struct event_base;
struct evconnlistener;

namespace gearstalk {

class HttpConnection;

// Answers requests. Called on the loop's thread, inside a round.
class HttpSite {
 public:
  // The largest body of a request with this head, in bytes.
  virtual std::size_t MaxBody(const HttpRequest& head) = 0;
  virtual HttpAnswer Answer(HttpRequest& request) = 0;
  // The answer to a request that could not be parsed, or exceeds a limit; `request` is what is
  // known of it.
  virtual HttpAnswer Refuse(int status, const HttpRequest& request) = 0;

 protected:
  ~HttpSite() = default;
};

// What the server needs of the loop around it.
struct HttpHooks {
  std::function<void()> begin_round;  // before anything else in every callback
  std::function<Time()> now;
  std::function<Lsn()> durable;
};

struct HttpLimits {
  std::size_t tcp = 64;      // connections
  std::size_t unix = 16;     // connections over Unix sockets
  std::size_t sliced = 8;    // answers under way in slices
  Time idle = 10 * kSecond;  // between two requests, or while the peer reads nothing
  Time request = 20 * kSecond;
  // The same while others wait in the backlog.
  Time crowded_idle = kSecond / 2;
  Time crowded_request = 5 * kSecond;
  Time feed_idle = 30 * kSecond;  // while a feed's peer reads nothing
};

// An HTTP/1.1 server on the loop's thread. Limits apply before a request is parsed: connections
// beyond the limit wait in the backlog; the size of a request and the time until it is complete are
// bounded.
class HttpServer {
 public:
  HttpServer(event_base* base, HttpSite& site, HttpHooks hooks, SliceQueue& slices,
             HttpLimits limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Serves a listening socket, which outlives the server.
  Status Listen(int fd, bool unix);

  // The durable position advanced: sends answers that waited for it.
  void OnDurable();
  // The durable position will not advance soon, or never: closes the connections whose answers wait
  // for it, so that their clients know that the outcome is unknown.
  void AbandonHeld(bool for_good);
  // To be called a few times a second: closes connections that have been silent for too long.
  void CloseSilent();

  std::size_t connections() const { return connections_.size(); }

  // --- For connections
  HttpSite& site() { return site_; }
  const HttpHooks& hooks() const { return hooks_; }
  const HttpLimits& limits() const { return limits_; }
  SliceQueue& slices() { return slices_; }
  bool abandons_held() const { return abandons_held_; }  // also those to come
  event_base* base() { return base_; }
  // Whether one more answer may be made in slices.
  bool TakeSlot();
  void GiveSlot() { --sliced_; }
  // Destroys it.
  void Remove(HttpConnection& connection);

 private:
  struct Listener;

  void Accept(int fd, HttpPeer peer, bool unix);
  void AdjustListeners();
  // Whether there are as many connections as allowed.
  bool Full(bool unix) const;
  void PauseAccepting();

  event_base* const base_;
  HttpSite& site_;
  const HttpHooks hooks_;
  const HttpLimits limits_;
  SliceQueue& slices_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::unique_ptr<HttpConnection>> connections_;
  std::size_t sliced_ = 0;
  bool abandons_held_ = false;
  event* again_;  // resumes accepting
};

}  // namespace gearstalk
