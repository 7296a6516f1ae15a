#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "broker/base/clock.h"
#include "broker/server/access.h"
#include "broker/server/output.h"
#include "broker/server/refusal.h"
#include "broker/server/turn.h"

struct sockaddr_storage;

namespace gearstalk {

// The other end of a connection.
struct Peer {
  int fd = -1;
  std::string address;        // "127.0.0.1", "::1", or "unix"
  bool local = false;         // loopback or a Unix socket
  std::uint64_t id = 0;       // rises with every connection
  std::uint16_t port = 0;     // 0: a Unix socket
  std::uint64_t network = 0;  // one IPv4 address or IPv6 /64; 0: a Unix socket
  std::string_view listen{};  // the address it connected to, as configured
  std::string_view bound{};   // the same, with the port chosen for port 0
  Time connected_at = 0;
  bool tls = false;           // uses TLS
  std::string certificate{};  // common name of its verified certificate; empty without one
  // Its rights; nullptr: all rights. May change at any time.
  std::shared_ptr<const Access> access{};

  // That of an accepted socket. A socket for both families shows IPv4 addresses as IPv6 addresses
  // (::ffff:1.2.3.4); these are IPv4 peers here.
  static Peer Of(int fd, const sockaddr_storage& from);
  // The same of 4 or 16 bytes of an address; none: a Unix socket.
  static Peer Of(int fd, std::string_view address, std::uint16_t port);
  // Its name in logs: "127.0.0.1:40312", "[::1]:40312", "unix".
  std::string Name() const;
};

// What an operator did, or was refused, over a client's protocol. Valid during the call that
// reports it.
struct OperatorAct {
  std::string_view action;  // as the API calls it: "job.kick"
  std::string_view tube{};
  std::uint64_t job = 0;  // 0: none
  std::optional<std::uint64_t> count{};
  // What else it is about: "schedule", and its name; "policy", and its key.
  std::string_view subject{};
  std::string_view name{};
  std::string_view result = "ok";  // or why not, in the API's word
};

// The API's word for how an act ended.
std::string_view ResultOf(Code code);

// The connection as its sessions see it. Outlives them.
class Wire {
 public:
  // Its bytes leave in one write at the end of the round.
  virtual Output& out() = 0;
  virtual const Peer& peer() const = 0;
  virtual Time Now() const = 0;
  // Bytes of unrequested results (Output::unasked) at which a session stops adding some: the server
  // cuts the connection off before.
  virtual std::size_t MostUnasked() const { return SIZE_MAX; }
  // What the session may take in this turn.
  virtual TurnShare share() const { return {}; }
  // Ends a kWait: OnInput is called again in this or the next round if there are bytes. Safe to
  // call from inside engine callbacks.
  virtual void Resume() = 0;
  // The same even without bytes.
  virtual void RunSoon() { Resume(); }
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

// What a session needs next.
enum class Next : std::uint8_t {
  kGoOn,     // another step: a message, or the rest of this one; only within a session
  kBytes,    // more bytes: it has run all complete messages
  kWait,     // for the engine; Resume when it can go on
  kYield,    // a turn for others, then another call: there is more to run, or to answer
  kForeign,  // another protocol: the next message does not belong to this one
  kClose,    // the end of the connection, once the output is sent
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
    kUnknownLine,  // answer one line whose first word no protocol knows; never kForeign
  };
  virtual ~Session() = default;

  virtual InputResult OnInput(std::string_view bytes, Scope scope) = 0;

  // While a body is arriving: the space for its next bytes, so that they are read from the socket
  // into the job. Empty: no body is arriving, or the session wants the bytes through OnInput.
  virtual std::span<char> BodySpace() { return {}; }
  // `size` bytes were read into BodySpace. OnInput is called next, even if no bytes follow.
  virtual void OnBody(std::size_t /*size*/) {}

  // The peer will send no more, and OnInput has seen all of it (after kWait, the rest may still
  // come). Answer what waits; the connection closes once the output is sent, unless the session
  // still returns kYield.
  virtual void OnEof() = 0;

  // The connection is over: removes the session from the engine, a bounded number of steps a call.
  // False: there is more, call again. Destroying the session earlier does all the rest at once.
  virtual bool Leave() { return true; }

  // Whether it holds no jobs and waits for nothing but its peer's next message.
  virtual bool Idle() const { return false; }

  // The peer; nullptr: not known.
  virtual const Peer* Client() const { return nullptr; }
  // The name that the client gave itself, any bytes; empty: none.
  virtual std::string_view ClientId() const { return {}; }
  // For `workers`: up to `most` of the queues it takes jobs from, from the one at `from` on, each
  // after a space. Returns how many it appended.
  virtual std::size_t AppendQueues(std::string& /*out*/, std::size_t /*from*/,
                                   std::size_t /*most*/) const {
    return 0;
  }
};

// Whether a message belongs to a protocol, by its first bytes (at least one).
enum class Claim : std::uint8_t {
  kNo,
  kMaybe,       // more bytes are needed to tell
  kOneMessage,  // answers this one; the connection stays undecided
  kYes,         // the connection belongs to this protocol
};

class Protocol {
 public:
  virtual ~Protocol() = default;
  virtual std::string_view name() const = 0;
  // Looks at the first word (or byte) of a message.
  virtual Claim Sniff(std::string_view bytes) const = 0;
  // For a line that no protocol claimed: whether this one answers it (kOneMessage). kMaybe until
  // the line is complete.
  virtual Claim SniffUnknown(std::string_view bytes) const = 0;
  // Whether a connection speaks it only after its greeting. A greeting is accepted even where a
  // single other protocol is configured.
  virtual bool NeedsGreeting() const { return false; }
  virtual std::unique_ptr<Session> NewSession(Wire& wire) = 0;

  // The number of well-formed commands since the start, by kind.
  using CountVisitor = std::function<void(std::string_view command, std::uint64_t count)>;
  virtual void VisitCounts(const CountVisitor& /*visit*/) const {}
  // Connections that belong to it now.
  std::size_t connections() const { return connections_; }

 private:
  friend class ProtocolSwitch;
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
    Time active_at = 0;                // when the peer last sent or took bytes
  };
  // The connection with the lowest descriptor from `fd` on; its peer is nullptr if there is none.
  virtual Entry Next(int fd) const = 0;
  virtual std::size_t Count() const = 0;
  virtual std::uint64_t Total() const = 0;  // since the start

 protected:
  ~ConnectionList() = default;
};

}  // namespace gearstalk
