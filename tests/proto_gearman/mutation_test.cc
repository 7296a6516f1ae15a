// Whatever is sent, nothing breaks: conversations with random damage, the same on every run.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "broker/engine/consumer.h"
#include "tests/proto_gearman/conversation.h"
#include "tests/proto_gearman/world.h"

namespace gearstalk::gearman {
namespace {

constexpr int kRounds = 3000;

class Damage {
 public:
  explicit Damage(unsigned seed) : random_(seed) {}

  std::size_t Below(std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random_);
  }

  std::string Do(std::string bytes) {
    for (std::size_t times = Below(6); times > 0 && !bytes.empty(); --times) {
      const std::size_t at = Below(bytes.size());
      const std::size_t size = std::min(bytes.size() - at, 1 + Below(40));
      switch (Below(5)) {
        case 0:
          bytes[at] = static_cast<char>(Below(256));
          break;
        case 1:
          bytes.erase(at, size);
          break;
        case 2:
          bytes.insert(at, bytes.substr(at, size));
          break;
        case 3:
          bytes[at] = '\0';
          break;
        default:
          bytes.insert(at, std::string(size, static_cast<char>(Below(256))));
      }
    }
    return bytes;
  }

 private:
  std::mt19937 random_;
};

std::string Invariants(const World& world) {
  std::vector<const Consumer*> consumers;
  for (auto next = world.Next(0); next.peer != nullptr; next = world.Next(next.peer->fd + 1)) {
    consumers.push_back(dynamic_cast<const Consumer*>(next.session));
  }
  return world.engine.CheckInvariants(consumers);
}

// Sends in random pieces until everything is sent or the session closes.
void Send(Connection& connection, std::string_view bytes, Damage& damage) {
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), 1 + damage.Below(700));
    connection.Say(bytes.substr(0, size));
    if (connection.next() == Next::kClose) return;
    bytes.remove_prefix(size);
  }
}

TEST(Mutation, DamagedConversationsKeepTheEngineWhole) {
  for (unsigned round = 0; round < kRounds; ++round) {
    Damage damage(round);
    World world;
    Connection& first = world.Connect();
    Connection& second = world.Connect();
    Send(first, damage.Do(Conversation()), damage);
    Send(second, damage.Do(Conversation()), damage);
    world.Pass(static_cast<Time>(damage.Below(10)) * kSecond);
    ASSERT_EQ(Invariants(world), "") << round;
    world.Disconnect(damage.Below(2) == 0 ? first : second);
    ASSERT_EQ(Invariants(world), "") << round;
  }
}

}  // namespace
}  // namespace gearstalk::gearman
