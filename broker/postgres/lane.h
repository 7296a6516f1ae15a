#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "broker/postgres/connection.h"
#include "broker/replica/log_store.h"

namespace gearstalk::postgres {

// What connections are for: none waits behind statements of another kind.
enum class LaneOf : std::uint8_t { kAppends, kBeats, kReads };

// How a statement is made.
struct CallPlan {
  Statement statement;
  // After so long without an answer it goes out on a second connection, too.
  Time hedge = 0;
  // SQLSTATEs of the errors that answer it. After others it is repeated.
  std::string answers = {};
  bool append = false;      // for the statistics
  std::uint64_t place = 0;  // Caller::place that it is for; 0: any
  // Called each `hedge` without an answer, with the process that runs it in the server.
  std::function<void(std::int64_t pid)> on_silent = {};
};

struct CallAnswer {
  StoreResult result;  // kFailed: it cannot be made, as it is configured
  Reply reply;         // if done
  Time sent = 0;       // when the try that was answered left
  Time first_sent = 0;
  std::uint64_t server = 0;  // number of the server that answered; another one after each loss
  bool moved = false;        // another server is in use than it is for: its outcome is not known
};

struct Operation {
  std::uint64_t id = 0;
  CallPlan plan;
  std::function<void(const CallAnswer&)> done;
  Time not_before = 0;
  Time waits_since = 0;  // for an answer, or for a connection
  Time first_sent = 0;
  Time silent_told = 0;
  std::string trouble;  // why the newest try failed, or has no answer; empty: neither
};

// The connections of one kind, and the statements that wait for them, which run one at a time.
// There are two connections at most: a server goes on with what a client has given up.
struct Lane {
  struct Try {
    std::unique_ptr<Connection> connection;
    bool admitted = false;        // its server is the one in use
    std::uint64_t operation = 0;  // that it runs; 0: none
    Time sent = 0;
    Time idle_since = 0;

    void Reset() { *this = {}; }
  };

  std::list<Operation> operations;
  std::array<Try, 2> tries;
  Time connect_after = 0;

  // What is to be done now; nullptr: nothing.
  Operation* Due(Time now);
  Operation* Find(std::uint64_t id);
  bool Runs(std::uint64_t id) const;
  // One that could run a statement.
  Try* Idle();
  // What all that wait here wait for.
  void NoteTrouble(const std::string& trouble);
  // Of what waits here.
  std::string_view trouble() const;
  // A place for another connection.
  Try* Free();
  bool IsConnecting() const;
  bool HasAdmitted() const;
  void Close();
};

}  // namespace gearstalk::postgres
