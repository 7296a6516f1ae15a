#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace gearstalk::bench {

class Connection;

// Whoever wants to act once in each round of the loop.
class RoundObserver {
 public:
  virtual ~RoundObserver() = default;
  virtual void OnRound(int64_t now) = 0;
};

// An epoll loop. A round reads from every ready connection once, lets the observers act, and sends
// what has gathered with one call for each connection.
class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Waits at most until `deadline` (of Now()) for something to arrive.
  void RunRound(int64_t deadline);

  // Observers live as long as the loop runs; each round starts with another one.
  void AddObserver(RoundObserver* observer) { observers_.push_back(observer); }

  // When the round began to handle what arrived.
  int64_t now() const { return now_; }

 private:
  friend class Connection;

  void Add(int fd, Connection* connection);
  void WatchForSpace(int fd, Connection* connection, bool wanted);
  void FlushSoon(Connection* connection) { unsent_.push_back(connection); }
  void Forget(const Connection* connection);

  void Wait(int64_t deadline);
  void LetObserversAct();
  void FlushAll();

  static constexpr size_t kScratchBytes = 256 * 1024;

  int epoll_;
  int64_t now_;
  std::unique_ptr<char[]> scratch_;
  std::vector<RoundObserver*> observers_;
  size_t first_observer_ = 0;
  std::vector<Connection*> unsent_;
};

}  // namespace gearstalk::bench
