#pragma once

#include "broker/base/clock.h"
#include "broker/base/lsn.h"

namespace gearstalk {

// What the server calls in every round of its loop, on the loop's thread.
class RoundHooks {
 public:
  // Begins a round: reads the clock.
  virtual void BeginRound() {}
  // The clock, read anew, to measure durations. A clock that stands still bounds nothing.
  virtual Time Fresh() const { return 0; }
  // Does what is due and returns when to call again.
  virtual Time Tick(Time now) = 0;
  // All commands of the round have run: hands their changes to the journal.
  virtual void EndRound(Time now) = 0;
  // The replies of the round are sent: does work that no reply waits for. True: there is more of
  // it, or it made changes for the journal, so the next round begins at once.
  virtual bool AfterRound(Time) { return false; }
  // The durable position: replies up to it may leave.
  virtual Lsn Durable() const = 0;
  // Whether the journal is so far behind that connections that wait for it are not read.
  virtual bool Behind() const = 0;
  // Whether the memory limit for clients is reached.
  virtual bool MemoryFull() const { return false; }
  // Whether anything may be sent now; asked before each send.
  virtual bool MaySend() const { return true; }

 protected:
  ~RoundHooks() = default;
};

}  // namespace gearstalk
