// Bodies that come and go at any moment change no reply: two brokers get the same commands, one
// has all bodies in memory.

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "proto_beanstalk/protocol.h"
#include "proto_gearman/protocol.h"
#include "tests/bodies/shelf_journal.h"
#include "tests/proto_beanstalk/broker.h"
#include "tests/proto_gearman/world.h"
#include "tests/support/identity.h"
#include "tests/support/socketless.h"
#include "tests/support/socketless_broker.h"

namespace gearstalk {
namespace {

using gearman::PacketType;
using gearman::Req;

constexpr std::size_t kBeanstalk = 4, kClients = 8;

class PlainClient final : public Socketless {
 public:
  using Socketless::Socketless;

 private:
  bool OnForeign() override {
    input().erase(0, input().find('\n') + 1);
    return !input().empty();
  }
};

// A broker that speaks both protocols.
struct Both : SocketlessBroker {
  explicit Both(std::unique_ptr<Journal> kept_in)
      : SocketlessBroker({.default_ttr_s = 20}, std::move(kept_in)),
        beanstalk({}, beanstalk::TestIdentity(clock.Now()), engine, connections),
        gearman(gearman::World::DefaultOptions(), engine, connections) {
    clients.resize(kClients);
  }

  Socketless& Client(std::size_t which) {
    std::unique_ptr<PlainClient>& client = clients[which];
    if (client == nullptr || client->closed()) {
      client = std::make_unique<PlainClient>(clock, Peer{});
      Protocol& protocol = which < kBeanstalk ? static_cast<Protocol&>(beanstalk) : gearman;
      client->set_session(protocol.NewSession(*client));
    }
    return *client;
  }

  beanstalk::FakeConnections connections;
  beanstalk::Protocol beanstalk;
  gearman::Protocol gearman;
  std::vector<std::unique_ptr<PlainClient>> clients;
};

class Script {
 public:
  explicit Script(std::uint64_t seed) : lot_(seed) {}

  std::uint64_t Below(std::uint64_t most) { return lot_() % most; }
  std::string Tube() { return std::string(1, static_cast<char>('a' + Below(5))); }
  std::string Body() {
    // Few sizes, or no two bodies would be equal.
    constexpr std::size_t kSizes[] = {7, 127, 128, 300, 300, 300, 9000};
    const std::size_t size = Below(2) == 0 ? Below(400) : kSizes[Below(std::size(kSizes))];
    std::string body = std::to_string(Below(12)) + ":";
    body.resize(std::max(body.size(), size), static_cast<char>('k' + Below(3)));
    return body;
  }
  std::string Id() { return std::to_string(1 + Below(next_ + 2)); }
  void NoteJobs(std::uint64_t next) { next_ = next; }

  std::string Beanstalk() {
    switch (Below(22)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const std::string body = Body();
        return "put " + std::to_string(Below(4)) + " " + std::to_string(Below(4) == 0 ? 2 : 0) +
               " 10 " + std::to_string(body.size()) + "\r\n" + body + "\r\n";
      }
      case 4:
      case 5:
      case 6:
        return "reserve-with-timeout " + std::to_string(Below(3)) + "\r\n";
      case 7:
        return Below(8) == 0 ? "reserve\r\n" : "reserve-with-timeout 0\r\n";
      case 8:
      case 9:
        return "delete " + Id() + "\r\n";
      case 10:
        return "release " + Id() + " " + std::to_string(Below(4)) + " " + std::to_string(Below(3)) +
               "\r\n";
      case 11:
        return "bury " + Id() + " 3\r\n";
      case 12:
        return "touch " + Id() + "\r\n";
      case 13:
        return "peek " + Id() + "\r\n";
      case 14:
        return "peek-ready\r\npeek-delayed\r\npeek-buried\r\n";
      case 15:
        return "kick " + std::to_string(1 + Below(3)) + "\r\n";
      case 16:
        return "kick-job " + Id() + "\r\n";
      case 17:
        return "use " + Tube() + "\r\n";
      case 18:
        return (Below(3) > 0 ? "watch " : "ignore ") + Tube() + "\r\n";
      case 19:
        return "stats-job " + Id() + "\r\nstats-tube " + Tube() + "\r\n";
      case 20:
        return "reserve-job " + Id() + "\r\n";
      default:
        return Below(6) == 0 ? "pause-tube " + Tube() + " 1\r\n"
                             : "reserve-with-timeout 0\r\nreserve-with-timeout 0\r\npeek-ready\r\n";
    }
  }

  std::string Gearman() {
    const std::string handle = gearman::Handle(1 + Below(next_ + 1));
    const std::string unique = Below(3) == 0   ? "-"
                               : Below(2) == 0 ? ""
                                               : "u" + std::to_string(Below(9));
    switch (Below(11)) {
      case 0:
      case 1:
        return Req(PacketType::kSubmitJobBg, {Tube(), unique, Body()});
      case 2:
        return Req(PacketType::kSubmitJob, {Tube(), unique, Body()});
      case 3:
        return Req(PacketType::kCanDo, {Tube()});
      case 4:
        return Req(PacketType::kGrabJob);
      case 5:
      case 6:
        return Req(PacketType::kGrabJobAll) + Req(PacketType::kGrabJobUniq);
      case 7:
        return Req(PacketType::kWorkComplete, {handle, "done"});
      case 8:
        return Req(PacketType::kWorkFail, {handle});
      case 9:
        return Req(PacketType::kWorkException, {handle, "text"});
      default:
        return Req(PacketType::kPreSleep);
    }
  }

 private:
  std::mt19937_64 lot_;
  std::uint64_t next_ = 1;
};

class TwoBrokers {
 public:
  explicit TwoBrokers(std::uint64_t seed)
      : script_(seed),
        cold_(std::make_unique<ShelfJournal>()),
        warm_(std::make_unique<KeptJournal>()) {
    journal_ = static_cast<ShelfJournal*>(cold_.journal.get());
    journal_->Answer(cold_.engine.records());
    for (Both* both : {&cold_, &warm_}) {
      const auto set = [both](std::string_view tube, std::string_view key, std::string_view value) {
        const PolicySet result = both->engine.SetPolicy(both->clock.Now(), tube, key, value);
        ASSERT_TRUE(result.status.ok()) << result.status.message();
      };
      set("b", "attempts", "3");
      set("b", "on_failure", "move");
      set("b", "expire_after", "30s");
      set("c", "unique", "body");
      set("c", "unique_for", "3s");
      set("c", "copy_to", "a,d,e");
      set("d", "unique", "body");
      set("e", "unique", "body");
      set("e", "unique_until", "start");
    }
  }

  void Step() {
    if (script_.Below(4) == 0) {
      constexpr std::size_t kLimits[] = {1, 1, 1, 2000, 20'000, 1'000'000, 0};
      cold_.engine.SetLimits({.bodies = kLimits[script_.Below(std::size(kLimits))]});
    }
    // Deadlines that fall together have no order.
    for (Both* both : {&cold_, &warm_}) both->clock.Advance(1);
    script_.NoteJobs(warm_.engine.next_id());
    const std::size_t which = script_.Below(kClients);
    if (script_.Below(100) == 0) {
      const std::string_view group = script_.Below(2) == 0 ? "line" : "none";
      for (Both* both : {&cold_, &warm_}) {
        both->engine.SetPolicy(both->clock.Now(), "a", "group", group);
      }
    } else if (script_.Below(40) == 0) {
      const Time by = static_cast<Time>(1 + script_.Below(12)) * kSecond;
      for (Both* both : {&cold_, &warm_}) both->Pass(by);
    } else if (script_.Below(200) == 0 && HoldsOne(which)) {
      for (Both* both : {&cold_, &warm_}) both->Client(which).DropSession();
    } else if (warm_.Client(which).next() != Next::kWait) {
      const std::string said = which < kBeanstalk ? script_.Beanstalk() : script_.Gearman();
      for (Both* both : {&cold_, &warm_}) both->Client(which).Receive(said);
    }
    Settle();
    Compare();
  }

  // Of keys and bodies: the test does not give it the consumers.
  std::string Check() const {
    std::string wrong = cold_.engine.CheckInvariants({});
    const auto about = [&](const char* what) { return wrong.find(what) != std::string::npos; };
    return about("key") || about("bod") ? wrong : "";
  }
  std::uint64_t reads() const { return cold_.engine.Stats().bodies.reads; }
  std::uint64_t duplicates() const { return cold_.engine.Stats().duplicates; }

 private:
  // More would be given back in no order that clients can count on.
  bool HoldsOne(std::size_t which) {
    return dynamic_cast<const Consumer*>(warm_.Client(which).session())->held() <= 1;
  }

  // Until nobody waits for a body, in any order of answers, and no slice is left.
  void Settle() {
    for (bool busy = true; busy;) {
      busy = false;
      for (Both* both : {&cold_, &warm_}) {
        while (both->engine.Tick(both->clock.Now()) <= both->clock.Now()) continue;
        for (auto& client : both->clients) {
          if (client == nullptr || client->closed() || !client->resumed()) continue;
          client->Run();
          busy = true;
        }
      }
      while (journal_->asked() > 0) {
        journal_->AnswerOne(script_.Below(journal_->asked()));
        busy = true;
      }
    }
  }

  void Compare() {
    for (std::size_t i = 0; i < kClients; ++i) {
      ASSERT_EQ(cold_.Client(i).out().TakeAll(), warm_.Client(i).out().TakeAll()) << "client " << i;
    }
    const EngineStats cold = cold_.engine.Stats(), warm = warm_.engine.Stats();
    ASSERT_EQ(cold.ready, warm.ready);
    ASSERT_EQ(cold.reserved, warm.reserved);
    ASSERT_EQ(cold.delayed, warm.delayed);
    ASSERT_EQ(cold.buried, warm.buried);
    ASSERT_EQ(cold.reserves, warm.reserves);
    ASSERT_EQ(cold.duplicates, warm.duplicates);
    ASSERT_EQ(cold.copies, warm.copies);
  }

  Script script_;
  Both cold_, warm_;
  ShelfJournal* journal_;
};

// GEARSTALK_STEPS: how many instead of the usual number.
TEST(Replies, AreTheSameAsWithAllBodiesInMemory) {
  const char* const given = std::getenv("GEARSTALK_STEPS");
  const long steps = given == nullptr ? 40'000 : std::atol(given);
  constexpr long kStepsOfOne = 2000;
  std::uint64_t reads = 0, duplicates = 0;
  for (long done = 0; done < steps; done += kStepsOfOne) {
    SCOPED_TRACE(done);
    TwoBrokers two(static_cast<std::uint64_t>(done + 1));
    for (long step = 0; step < kStepsOfOne; ++step) {
      SCOPED_TRACE(step);
      ASSERT_NO_FATAL_FAILURE(two.Step());
      if (step % 100 == 0) {
        ASSERT_EQ("", two.Check());
      }
    }
    reads += two.reads();
    duplicates += two.duplicates();
  }
  EXPECT_GT(reads, static_cast<std::uint64_t>(steps) / 20);
  EXPECT_GT(duplicates, static_cast<std::uint64_t>(steps) / 200);
}

}  // namespace
}  // namespace gearstalk
