#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "broker/server/protocol.h"
#include "proto_beanstalk/protocol.h"
#include "tests/support/socketless.h"
#include "tests/support/socketless_broker.h"

namespace gearstalk::beanstalk {

// The server's connections, as far as `stats` asks for them.
class FakeConnections final : public ConnectionList {
 public:
  Entry Next(int /*fd*/) const override { return {}; }
  std::size_t Count() const override { return 3; }
  std::uint64_t Total() const override { return 7; }
};

// A broker with this protocol only.
struct Broker : SocketlessBroker {
  explicit Broker(Options options = {},
                  std::unique_ptr<Journal> kept_in = std::make_unique<MemoryJournal>());

  FakeConnections connections;
  Protocol protocol;
};

// One client with its connection.
class Client final : public Socketless {
 public:
  explicit Client(Broker& broker);

  // Sends bytes and returns all that comes back before more bytes are needed.
  std::string Say(std::string_view bytes);
  // What has come since, after things that others did.
  std::string Hear();
  // Sends bytes in reads of at most `read` bytes.
  std::string Stream(std::string_view bytes, std::size_t read);
  // Ends the client's side, and returns what is still answered.
  std::string Eof();

 private:
  // As the protocol switch does when no other protocol knows the line either.
  bool OnForeign() override;

  Broker& broker_;
};

class BeanstalkTest : public ::testing::Test {
 protected:
  Broker broker_;
  Client a_{broker_};
  Client b_{broker_};
};

// The value of `key` in a YAML reply, "" if it is not there.
std::string ValueOf(const std::string& reply, const std::string& key);

}  // namespace gearstalk::beanstalk
