#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "broker/base/clock.h"
#include "broker/engine/engine.h"
#include "broker/journal/memory_journal.h"
#include "broker/server/protocol.h"
#include "proto_beanstalk/protocol.h"

namespace gearstalk::beanstalk {

// The server's connections, as far as `stats` asks for them.
class FakeConnections final : public ConnectionList {
 public:
  Entry Next(int /*fd*/) const override { return {}; }
  std::size_t Count() const override { return 3; }
  std::uint64_t Total() const override { return 7; }
};

// Everything behind the sockets: a clock that only tests move, an engine, the protocol.
struct Broker {
  explicit Broker(Options options = {});
  Broker(Options options, std::unique_ptr<Journal> journal);

  // Moves the clock and lets the engine do what is due.
  void Pass(Time by);

  FakeClock clock;
  std::unique_ptr<Journal> journal;
  Engine engine;
  FakeConnections connections;
  Protocol protocol;
};

// One client with its connection: does what the server does around a session.
class Client final : private Wire {
 public:
  explicit Client(Broker& broker);
  ~Client();

  // Sends bytes and returns all that comes back before more bytes are needed.
  std::string Say(std::string_view bytes);
  // What has come since, after things that others did.
  std::string Hear();
  // Sends bytes the way a server reads large bodies: straight into the job wherever the session
  // offers space, in reads of at most `read` bytes.
  std::string Stream(std::string_view bytes, std::size_t read);
  // Ends the client's side, and returns what is still answered.
  std::string Eof();

  // One call of OnInput with what was not used yet.
  Next Step(std::string_view bytes);

  bool closed() const { return closed_; }
  // How often the session let others go first.
  int yields() const { return yields_; }
  int direct_reads() const { return direct_reads_; }
  gearstalk::Session& session() { return *session_; }
  Output& out() override { return out_; }
  void set_access(std::shared_ptr<const Access> access) { peer_.access = std::move(access); }
  // How often it was refused something.
  std::uint64_t refused(gearstalk::Refusal why = gearstalk::Refusal::kRights) const {
    return refused_.of(why);
  }

 private:
  const Peer& peer() const override { return peer_; }
  Time Now() const override { return broker_.clock.Now(); }
  void Resume() override { resumed_ = true; }
  void OnRefused(gearstalk::Refusal why, const gearstalk::Refused& /*what*/) override {
    refused_.Count(why);
  }

  void Run();
  // The line is no beanstalk command: as the router does when no other protocol knows it either.
  bool AnswerUnknown();

  Broker& broker_;
  Peer peer_;
  Output out_;
  std::string input_;
  bool resumed_ = false;
  bool closed_ = false;
  int yields_ = 0;
  int direct_reads_ = 0;
  RefusalCounts refused_;
  std::unique_ptr<gearstalk::Session> session_;
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
