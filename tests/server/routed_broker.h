#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"
#include "broker/server/protocol.h"
#include "broker/server/protocol_switch.h"
#include "proto_beanstalk/protocol.h"
#include "proto_gearman/protocol.h"
#include "tests/support/socketless.h"
#include "tests/support/socketless_broker.h"

namespace gearstalk {

class RoutedBroker;

// One connection without a socket, read by a protocol switch.
class RoutedClient final : public Socketless {
 public:
  RoutedClient(RoutedBroker& broker, int fd);

  // Reads `bytes` in pieces of `piece` bytes (0: in one). Input that has to wait is run by
  // RoutedBroker::Settle.
  void Send(std::string_view bytes, std::size_t piece = 0);
  // The peer closes its side; what still waits is run, then the connection ends.
  void HalfClose();
  void Disconnect();
  // What it has heard since the last call.
  std::string Hear();

  bool owned() const { return !closed() && switch_->owner() != nullptr; }
  // Who can describe the connection.
  const Session* Describing() const { return closed() ? nullptr : switch_->Describing(); }

 private:
  friend class RoutedBroker;

  void Settle();

  ProtocolSwitch* switch_;
  std::string heard_;
};

// A broker with both protocols, and clients.
class RoutedBroker final : public SocketlessBroker, public ConnectionList {
 public:
  static constexpr std::size_t kClients = 3;

  RoutedBroker();
  ~RoutedBroker();
  RoutedBroker(const RoutedBroker&) = delete;
  RoutedBroker& operator=(const RoutedBroker&) = delete;

  RoutedClient& client(std::size_t index) { return *clients_[index]; }
  // A new connection takes the place of one that ended.
  void Reconnect(std::size_t index);
  // Runs what waited for others, in the order of the clients, until nothing is left to run.
  void Settle();
  // Moves the clock, does what is due, and settles.
  void Pass(Time by);
  // The first difference that the engine finds in its books, or "".
  std::string CheckInvariants() const;

  // --- ConnectionList
  Entry Next(int fd) const override;
  std::size_t Count() const override;
  std::uint64_t Total() const override { return total_; }

  beanstalk::Protocol beanstalk;
  gearman::Protocol gearman;
  const std::array<Protocol*, 2> protocols;

 private:
  friend class RoutedClient;

  // Keeps account of the sessions of a protocol.
  class Counted;

  std::vector<const Session*> sessions_;
  std::unique_ptr<Counted> counted_beanstalk_, counted_gearman_;
  std::array<Protocol*, 2> counted_;
  std::array<std::unique_ptr<RoutedClient>, kClients> clients_;
  std::uint64_t total_ = 0;
};

}  // namespace gearstalk
