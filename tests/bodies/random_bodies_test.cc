// Whatever clients, operators and the disk do to bodies, and in whatever order the disk answers,
// nobody gets another body than the one that was put, and no job is lost.

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "broker/journal/journal.h"
#include "tests/bodies/bodies_case.h"

namespace gearstalk {
namespace {

class RandomBodies : public BodiesTest {
 protected:
  RandomBodies() {
    for (int i = 0; i < 4; ++i) {
      clients_.push_back({std::make_unique<beanstalk::Client>(broker), {}});
      clients_.back().client->Say("watch other\r\n");
    }
  }

  std::uint64_t Number(std::uint64_t below) { return random_() % below; }
  bool Happens(std::uint64_t one_of) { return Number(one_of) == 0; }
  // Mostly one that is there.
  JobId SomeJob() {
    const JobId id = 1 + Number(last);
    const auto next = bodies_.lower_bound(id);
    return next == bodies_.end() || Happens(10) ? id : next->first;
  }

  struct Asking {
    std::unique_ptr<beanstalk::Client> client;
    std::string command;  // that is not answered yet
  };

  void Ask() {
    Asking& asking = clients_[Number(clients_.size())];
    if (!asking.command.empty()) return;
    const std::string id = std::to_string(SomeJob());
    const std::string commands[] = {"reserve-with-timeout 0",
                                    "reserve-with-timeout 0",
                                    "reserve-with-timeout 0",
                                    "peek " + id,
                                    "reserve-job " + id,
                                    "kick-job " + id,
                                    "release " + id + " 5 0",
                                    "release " + id + " 5 2",
                                    "bury " + id + " 5",
                                    "kick 3",
                                    "peek-buried",
                                    "delete " + id};
    asking.command = commands[Number(std::size(commands))];
    Read(asking, asking.client->Say(asking.command + "\r\n"));
  }
  void Read(Asking& asking, const std::string& said) {
    if (said.empty()) return;
    if (said == "DELETED\r\n") bodies_.erase(std::stoull(asking.command.substr(7)));
    if (said.starts_with("RESERVED ") || said.starts_with("FOUND ")) {
      const JobId id = std::stoull(said.substr(said.find(' ') + 1));
      const std::size_t at = said.find("\r\n") + 2;
      const auto body = bodies_.find(id);
      if (body != bodies_.end()) {
        ASSERT_EQ(body->second + "\r\n", said.substr(at)) << asking.command;
      }
      ++given_;
    }
    asking.command.clear();
  }
  void Listen() {
    for (Asking& each : clients_) {
      if (!each.command.empty()) Read(each, each.client->Hear());
    }
  }
  void PutOne() {
    constexpr std::size_t kSizes[] = {50, 200, 200, 3000};
    const std::size_t size = kSizes[Number(4)];
    Put(size, Happens(4) ? "0 3 10" : "0 0 10");
    bodies_[last] = BodyOf(last, size);
  }
  void Disturb() {
    constexpr std::size_t kLimits[] = {0, 1, 1, 5000, 100'000};
    switch (Number(8)) {
      case 0:
        return Limit(kLimits[Number(5)]);
      case 1:
        return journal->Fail(Happens(2));
      case 2:
        return journal->KeepOffDisk(Happens(2) ? UINT64_MAX : journal->kept().last());
      case 3:
        if (damages_ && Happens(4)) journal->Damage(SomeJob());
        return;
      case 4:
        return journal->Repair();
      case 5:
        broker.engine.Move(broker.clock.Now(), SomeJob(), Happens(2) ? "other" : "default");
        return;
      case 6:
        return broker.Pass(4 * kSecond);
      default:
        broker.Pass(Happens(2) ? 0 : kReadAgain);
    }
  }
  void Run(int steps) {
    for (int step = 0; step < steps; ++step) {
      if (bodies_.size() < 30 || Happens(100)) PutOne();
      Ask();
      if (Happens(3)) Disturb();
      if (journal->asked() > 0 && Happens(2)) journal->AnswerOne(Number(journal->asked()));
      Listen();
      ASSERT_FALSE(HasFatalFailure()) << step;
    }
    journal->Fail(false);
    journal->KeepOffDisk(UINT64_MAX);
    for (int round = 0; round < 20; ++round) {
      broker.Pass(kReadAgain);
      journal->AnswerAll();
      Listen();
    }
    for (const Asking& each : clients_) EXPECT_EQ("", each.command) << "it was never answered";
    EXPECT_EQ("", broker.engine.bodies().trouble());
    EXPECT_GT(given_, static_cast<std::size_t>(steps) / 20);
    for (const auto& [id, body] : bodies_) EXPECT_NE(nullptr, broker.engine.Find(id)) << id;
    EXPECT_EQ("", broker.engine.bodies().Check());
  }

  bool damages_ = false;
  std::size_t given_ = 0;

 private:
  std::mt19937_64 random_{5};            // NOLINT(cert-msc51-cpp): the same on every run
  std::map<JobId, std::string> bodies_;  // of the jobs that were not deleted
  std::vector<Asking> clients_;
};

TEST_F(RandomBodies, OfAnHonestDiskAreThoseThatWerePut) {
  Run(20'000);
  EXPECT_EQ(0U, Counts().damaged);
}

TEST_F(RandomBodies, OfADamagedDiskAreThoseThatWerePutOrNone) {
  damages_ = true;
  Run(20'000);
  EXPECT_GT(Counts().damaged, 0U);
}

}  // namespace
}  // namespace gearstalk
