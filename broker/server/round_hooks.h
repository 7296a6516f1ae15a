#pragma once

#include "broker/base/clock.h"
#include "broker/base/lsn.h"

namespace gearstalk {

// What the server calls in every round of its loop, on the loop's thread.
class RoundHooks {
 public:
  // The first thing of a round: brings the clock up to date.
  virtual void BeginRound() {}
  // A clock read anew, for how long things take. One that stands still sets no bounds.
  virtual Time Fresh() const { return 0; }
  // Does what is due and returns when to call again.
  virtual Time Tick(Time now) = 0;
  // All commands of this round were run: hand their changes to the journal.
  virtual void EndRound(Time now) = 0;
  // All that the round had to say was sent: work that nobody's reply waits for. True: there is
  // more of it, or what it did is to be journalled, so the next round comes at once.
  virtual bool AfterRound(Time) { return false; }
  // Replies up to this position may leave.
  virtual Lsn Durable() const = 0;
  // The journal lags so far behind that connections which wait for it should not be read from.
  virtual bool Behind() const = 0;
  // Whether clients have as much memory as they may.
  virtual bool MemoryFull() const { return false; }
  // Whether anything may be sent now; asked before each send.
  virtual bool MaySend() const { return true; }

 protected:
  ~RoundHooks() = default;
};

}  // namespace gearstalk
