#pragma once

#include <sys/time.h>

#include <functional>
#include <memory>
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
  // Whether a request is answered even while all others are refused: it asks how the server is.
  virtual bool Probes(const HttpRequest& request) const = 0;
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
  std::size_t tcp = 64;          // answers under way at a time
  std::size_t unix = 16;         // the same over Unix sockets
  std::size_t kept = 16;         // connections beyond them, for probes and for who only connects
  std::size_t sliced = 8;        // answers under way in slices
  std::size_t sliced_kept = 2;   // further ones to probes
  std::size_t bytes = 32 << 20;  // of requests and unsent answers; beyond, only probes are answered
  Time idle = 10 * kSecond;      // between two requests, or while the peer reads nothing
  Time request = 20 * kSecond;
  Time feed_idle = 30 * kSecond;  // while a feed's peer reads nothing
};

// An HTTP/1.1 server on the loop's thread. Limits apply before a request is parsed: the size of a
// request and the time until it is complete are bounded. A connection beyond the limit takes the
// place of one that waits for its peer, or waits in the backlog. So peers that are slow or silent
// keep nobody out, and some places and slots are always left for probes.
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
  // What all connections hold in memory of requests and unsent answers.
  std::size_t Bytes() const;

  // --- For connections
  HttpSite& site() { return site_; }
  const HttpHooks& hooks() const { return hooks_; }
  const HttpLimits& limits() const { return limits_; }
  SliceQueue& slices() { return slices_; }
  bool abandons_held() const { return abandons_held_; }  // also those to come
  event_base* base() { return base_; }
  // Whether no more answers may be begun but to probes.
  bool Crowded(bool unix) const;
  // Whether one more answer may be made in slices.
  bool TakeSlot(bool probe);
  void GiveSlot() { --sliced_; }
  // Destroys it.
  void Remove(HttpConnection& connection);

 private:
  struct Listener;

  void Accept(int fd, HttpPeer peer, bool unix);
  void AdjustListeners();
  // Whether there are more connections than places.
  bool Full(bool unix) const;
  // Closes the connection that has waited for its peer longest, of the address with the most
  // connections. False: none of them waits for its peer.
  bool CloseWaiting(const std::function<bool(const HttpConnection&)>& among);
  void PauseAccepting(const timeval& pause);

  event_base* const base_;
  HttpSite& site_;
  const HttpHooks hooks_;
  const HttpLimits limits_;
  SliceQueue& slices_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::unique_ptr<HttpConnection>> connections_;
  std::size_t sliced_ = 0;
  std::size_t accepted_ = 0;
  bool abandons_held_ = false;
  event* again_;  // resumes accepting
};

}  // namespace gearstalk
