#pragma once

#include <cstdint>

#include "broker/journal/record.h"

namespace gearstalk::ctl {

// The state at the beanstalkd of a job that an interrupted take-over had in flight.
struct OldJob {
  enum class State : std::uint8_t { kGone, kReady, kReserved, kDelayed, kBuried };
  State state = State::kGone;  // also when another job has the id: its body differs
  std::uint64_t reserves = 0, buries = 0;
};

enum class Settlement : std::uint8_t {
  kWait,             // commands of the dead connection may still wait in the old server: ask again
  kGoOn,             // our mark: phase 2, delete there, commit
  kDelete,           // delete there, commit
  kCommit,           // it is gone from there, and ours
  kCommitUncertain,  // it may have run there
  kDrop,             // it runs, or ran, there
};

struct SettleFacts {
  Record::Held phase = Record::Held::kFirstPhase;
  Record::State was = Record::State::kReady;  // there, when it was read
  std::uint64_t reserves = 0, buries = 0;     // there, when it was read, less our own
  bool due = false;                           // it was delayed, and is due by now
  bool same_server = true;                    // it is the process from which the job was read
  bool server_lost_all = false;               // another life of the old server, without a log
  bool connected = true;                      // the tool was connected when that life ended
};

// The rules of an interrupted take-over from beanstalkd, for one held job; docs/migration.md has
// them as a table.
Settlement Settle(const SettleFacts& held, const OldJob& there);

// The same for a gearmand, which tells of a job only whether it knows it.
struct HandleFacts {
  bool same_life = true;  // the server has not ended since it gave the handle
  bool known = false;     // the handle, in that life
  bool shared = false;    // the function has, or had, other workers
};
Settlement SettleHandle(const HandleFacts& facts);

}  // namespace gearstalk::ctl
