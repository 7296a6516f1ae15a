#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/server/protocol.h"
#include "proto_gearman/packet.h"
#include "proto_gearman/protocol.h"
#include "tests/support/socketless.h"
#include "tests/support/socketless_broker.h"

namespace gearstalk::gearman {

// The bytes of a request or response: its parts with a NUL between two.
std::string Req(PacketType type, std::initializer_list<std::string_view> parts = {});
std::string Res(PacketType type, std::initializer_list<std::string_view> parts = {});
std::string ErrorRes(std::string_view code, std::string_view text);
// A header and whatever follows it, for packets that are wrong.
std::string Raw(std::string_view magic, std::uint32_t type, std::uint32_t size,
                std::string_view payload = {});
std::string Handle(std::uint64_t id);
// What is said of an admin line whose first word has too few words behind it.
std::string Incomplete(std::string_view word);

// What is said of an admin line that the connection may not use.
inline constexpr std::string_view kDeniedLine =
    "ERR NOT_ALLOWED This+connection+may+not+do+that\r\n";

inline constexpr std::string_view kRequest{"\0REQ", 4};
inline constexpr std::string_view kResponse{"\0RES", 4};

class World;

class Connection final : public Socketless {
 public:
  Connection(World& world, gearstalk::Peer peer);

  // Sends bytes; returns everything that it has got to hear by then.
  std::string Say(std::string_view bytes, Scope scope = Scope::kAll);
  // The same in two reads.
  std::string SayCut(std::string_view bytes, std::size_t cut);
  std::string Hear() { return out().TakeAll(); }
  // What could leave now, and leaves.
  std::string HearDurable();
  // What it did as an operator since the last call, in words; "-" is nothing.
  std::vector<std::string> TakeActs() { return std::exchange(acts_, {}); }

  void OnOperatorAct(const OperatorAct& act) override;

 private:
  World& world_;
  std::vector<std::string> acts_;
};

// A broker with this protocol only, and its connections.
class World final : public SocketlessBroker, public ConnectionList {
 public:
  explicit World(Options options = DefaultOptions(), EngineOptions engine_options = {},
                 std::unique_ptr<Journal> kept_in = std::make_unique<MemoryJournal>());
  ~World();

  static Options DefaultOptions();

  Connection& Connect(std::string_view address = "127.0.0.1", bool local = true);
  // Ends a connection as a server does when its peer is gone.
  void Disconnect(Connection& connection);

  // ConnectionList
  Entry Next(int fd) const override;
  std::size_t Count() const override { return connections_.size(); }
  std::uint64_t Total() const override { return connections_.size(); }

  Protocol protocol;

 private:
  int next_fd_ = 10;
  std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace gearstalk::gearman
