#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/status.h"
#include "broker/server/listener.h"
#include "broker/server/router_link.h"
#include "broker/server/tls.h"

namespace gearstalk {

// The child processes that hold the clients' sockets. Each serves every listener and has a link of
// its own. One that ends or does not answer is replaced.
class Routers {
 public:
  Routers(EventLoop& loop, LinkHost& host, std::size_t count);
  // Ends them.
  ~Routers();
  Routers(const Routers&) = delete;
  Routers& operator=(const Routers&) = delete;

  std::size_t count() const { return children_.size(); }
  DueStreams& due() { return due_; }

  // Sent to all of them, also to those that come later.
  void SetTls(const std::shared_ptr<const TlsContext>& tls);
  void SetHandshakeTimeout(Time timeout);
  // Starts them, and returns when each serves these listeners.
  Status Start(std::vector<const ListenSocket*> listeners, Time now);
  // The listeners accept again.
  void ListenAgain();
  // For good: they close the listeners, and none of them is replaced.
  void StopListening();
  // While paused, nothing is read from them.
  void Pause(bool paused);
  // Sends what a round has for them, and replaces those that are lost.
  void EndRound(Time now);
  // Asks whether they live; starts those whose time has come.
  void EverySecond(Time now);
  // Waits until they have sent and closed what the broker has ended, for so long at most.
  void WaitForEnds(Time most);

  // Bytes for clients that count as memory.
  std::size_t UnderWay() const;
  std::uint64_t restarts() const { return restarts_; }

  struct Facts {
    pid_t pid = -1;  // -1: it waits to be started again
    std::size_t streams = 0;
    Time cpu = 0;  // of all processes in its place
    link::Counters counters{};
    std::uint64_t received_bytes = 0, sent_bytes = 0;  // over links
  };
  Facts FactsOf(std::size_t index) const;

 private:
  struct Child {
    pid_t pid = -1;
    std::unique_ptr<RouterLink> link;
    Time started = 0;
    Time start_again = kNever;
    unsigned short_lives = 0;  // in a row
    std::uint64_t ping = 0;    // the last that was sent
    int silent = 0;            // seconds without an answer
    std::uint64_t heard = 0;   // bytes, a second ago
    Facts before;              // of the processes that ended in its place
  };

  template <typename Visitor>
  void EachLink(Visitor visit) const {
    for (const Child& child : children_) {
      if (child.link != nullptr) visit(*child.link);
    }
  }
  Status Spawn(Child& child, Time now);
  void Replace(Child& child, std::string_view why, Time now);
  void StartAgain(Child& child, Time now);
  void Reap();
  void Send();

  EventLoop& loop_;
  LinkHost& host_;
  DueStreams due_;
  link::Settings settings_;
  std::vector<const ListenSocket*> listeners_;
  std::vector<Child> children_;
  std::vector<pid_t> ended_;  // to be reaped
  std::uint64_t restarts_ = 0;
  std::uint64_t seconds_ = 0;
  bool stopping_ = false;
  bool paused_ = false;
};

}  // namespace gearstalk
