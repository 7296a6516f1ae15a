#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "broker/base/clock.h"
#include "broker/server/access.h"
#include "broker/server/operator_act.h"
#include "broker/server/output.h"
#include "broker/server/refusal.h"
#include "broker/server/turn.h"

namespace gearstalk {

// Who is at the other end.
struct Peer {
  int fd = -1;
  std::string address;        // "127.0.0.1", "::1", or "unix"
  bool local = false;         // loopback or a Unix socket
  std::uint64_t id = 0;       // rises with every connection
  std::uint16_t port = 0;     // 0: a Unix socket
  std::uint64_t network = 0;  // one IPv4 address or IPv6 /64; 0: a Unix socket
  std::string_view listen{};  // the address it came to, as it was asked to be listened on
  std::string_view bound{};   // the same with the port that was taken for 0
  Time connected_at = 0;
  bool tls = false;           // speaks TLS
  std::string certificate{};  // common name of its verified certificate; empty without one
  // What it may do; nullptr: everything. May change at any time.
  std::shared_ptr<const Access> access{};

  // As logs name it: "127.0.0.1:40312", "[::1]:40312", "unix".
  std::string Name() const;
};

// A session's way back to its connection. Outlives the session.
class Wire {
 public:
  // What is appended here leaves in one write at the end of the round.
  virtual Output& out() = 0;
  virtual const Peer& peer() const = 0;
  virtual Time Now() const = 0;
  // Bytes of output at which the connection is cut off, with some to spare.
  virtual std::size_t MostOutput() const { return SIZE_MAX; }
  // What the session may take in this turn.
  virtual TurnShare share() const { return {}; }
  // A session that said kWait can go on: OnInput is called again in this or the next round, also
  // with no bytes. Safe to call from inside engine callbacks.
  virtual void Resume() = 0;
  // The session has refused a command.
  virtual void OnRefused(Refusal /*why*/, const Refused& /*what*/) {}
  // The engine has refused a job for this tube.
  virtual void OnJobRefused(Code /*why*/, std::string_view /*tube*/) {}
  // The session runs a command, and `about` is the rest of its line or its first argument. Called
  // only while traces are logged.
  virtual void OnCommand(std::string_view /*command*/, std::string_view /*about*/) {}
  // The session did, or refused, what an operator asked for.
  virtual void OnOperatorAct(const OperatorAct& /*act*/) {}

 protected:
  ~Wire() = default;
};

// What comes next for a session.
enum class Next : std::uint8_t {
  kGoOn,     // its next step: a message, or the rest of this one; within a session only
  kBytes,    // more bytes: all complete messages were run
  kWait,     // for the engine; Resume when it can go on
  kYield,    // others first: there is more to run, or a long answer is half made; then call again
  kForeign,  // another protocol: the next message is none of this one's
  kClose,    // the end, when what is in the output has left
};
struct InputResult {
  std::size_t bytes;  // used, from the front
  Next next;
};

// One connection's state in one protocol. A message is a command line with its body, or a packet.
class Session {
 public:
  enum class Scope : std::uint8_t {
    kAll,          // run all complete messages
    kOneMessage,   // run one message, then return (kBytes if it ran)
    kUnknownLine,  // answer one line whose first word nobody knows; do not say kForeign
  };
  virtual ~Session() = default;

  virtual InputResult OnInput(std::string_view bytes, Scope scope) = 0;

  // While a body is under way: where its next bytes go, so that they are read from the socket into
  // the job. Empty when none is, or when the session would rather be shown the bytes.
  virtual std::span<char> BodySpace() { return {}; }
  // `size` bytes were read into BodySpace. OnInput is called next, also when no bytes follow.
  virtual void OnBody(std::size_t /*size*/) {}

  // The peer will send no more, and all that it sent was shown; to a session that said kWait the
  // rest may still be shown. Answer what waits; the connection closes when the output has left,
  // unless the session still says kYield.
  virtual void OnEof() = 0;

  // The connection is over: gives up what the session has in the engine, a bounded number of steps
  // a call. False: there is more, call again. A session that is destroyed first does all of it.
  virtual bool Leave() { return true; }

  // Whether it holds nothing and waits for nothing but its peer's next word.
  virtual bool Idle() const { return false; }

  // Who is at the other end; nullptr: nobody that is known.
  virtual const Peer* Client() const { return nullptr; }
  // For `workers`: the client's name ("-" if none), and up to `most` of the queues it takes jobs
  // from, from the one at `from` on, after a blank each. Returns how many it appended.
  virtual std::string_view ClientId() const { return "-"; }
  virtual std::size_t AppendQueues(std::string& /*out*/, std::size_t /*from*/,
                                   std::size_t /*most*/) const {
    return 0;
  }
};

// Whether a protocol wants a message, by its first bytes (there is at least one).
enum class Claim : std::uint8_t {
  kNo,
  kMaybe,       // more bytes will tell
  kOneMessage,  // answers this one; the connection stays undecided
  kYes,         // it is this protocol's connection
};

class Protocol {
 public:
  virtual ~Protocol() = default;
  virtual std::string_view name() const = 0;
  // By the first word (or byte) of a message.
  virtual Claim Sniff(std::string_view bytes) const = 0;
  // The word was nobody's: would this protocol answer the line (kOneMessage)? kMaybe until its end
  // is there.
  virtual Claim SniffUnknown(std::string_view bytes) const = 0;
  // Whether it is spoken on connections alone that begin with its greeting, and then on those, too,
  // that otherwise belong to one protocol from the start.
  virtual bool NeedsGreeting() const { return false; }
  virtual std::unique_ptr<Session> NewSession(Wire& wire) = 0;

  // Well-formed commands since the start, each kind once.
  using CountVisitor = std::function<void(std::string_view command, std::uint64_t count)>;
  virtual void VisitCounts(const CountVisitor& /*visit*/) const {}
  // Connections that belong to it now.
  std::size_t connections() const { return connections_; }

 private:
  friend class Router;
  std::size_t connections_ = 0;
};

// All connections, for the lists of `workers` and the numbers of `stats`. Implemented by the
// server.
class ConnectionList {
 public:
  struct Entry {
    const Peer* peer = nullptr;
    const Session* session = nullptr;  // none while the protocol is undecided
    std::string_view protocol{};       // empty while it is undecided
    Time active_at = 0;                // when the peer was last heard, or took something
  };
  // The connection with the lowest descriptor from `fd` on; its peer is nullptr if there is none.
  virtual Entry Next(int fd) const = 0;
  virtual std::size_t Count() const = 0;
  virtual std::uint64_t Total() const = 0;  // since the start

 protected:
  ~ConnectionList() = default;
};

}  // namespace gearstalk
