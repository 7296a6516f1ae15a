// What every LogStore does, on the one in memory that the simulation uses and on etcd.

#include "tests/replica/store_suite.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <ctime>
#include <functional>
#include <memory>

#include "broker/etcd/etcd_store.h"
#include "tests/etcd/etcd_process.h"
#include "tests/replica/fake_store.h"

namespace gearstalk {
namespace {

Time Boot() {
  timespec ts{};
  clock_gettime(CLOCK_BOOTTIME, &ts);
  return static_cast<Time>(ts.tv_sec) * kSecond + ts.tv_nsec;
}

// One that can be made so full that it takes nothing more.
class FillablePlace : public Place {
 public:
  virtual void Fill(LogStore& store) = 0;
};

class FakePlace final : public FillablePlace {
 public:
  FakePlace() { shard_.keeps_bodies = true; }
  std::unique_ptr<LogStore> NewStore() override {
    return std::make_unique<FakeStore>(simulation_, shard_, link_);
  }
  void Turn(const std::vector<LogStore*>&, const std::function<bool()>& over) override {
    const Time limit = simulation_.now + 60 * kSecond;
    while (!over() && simulation_.Step(limit)) {
    }
    EXPECT_TRUE(over());
  }
  void Fill(LogStore&) override { shard_.full = true; }

 private:
  Simulation simulation_{1};
  FakeShard shard_;
  FakeLink link_;
};

class EtcdPlace final : public FillablePlace {
 public:
  explicit EtcdPlace(std::unique_ptr<EtcdProcess> etcd) : etcd_(std::move(etcd)) {}

  std::unique_ptr<LogStore> NewStore() override { return NewStore(""); }
  // `second`: another endpoint.
  std::unique_ptr<LogStore> NewStore(const std::string& second) {
    etcd::EtcdOptions options;
    options.endpoints = {etcd_->endpoint()};
    if (!second.empty()) options.endpoints.push_back(second);
    options.prefix = "/test/";
    return std::make_unique<etcd::EtcdStore>(options, etcd::EtcdSecrets{}, Boot);
  }
  void Turn(const std::vector<LogStore*>& stores, const std::function<bool()>& over) override {
    const Time limit = Boot() + 120 * kSecond;
    while (!over() && Boot() < limit) {
      std::vector<pollfd> ready;
      for (LogStore* store : stores) ready.push_back({store->NotifyFd(), POLLIN, 0});
      poll(ready.data(), ready.size(), 20);
      for (LogStore* store : stores) {
        store->OnNotify();
        store->Tick(Boot());
      }
    }
    EXPECT_TRUE(over());
  }
  void Fill(LogStore& store) override {
    // The quota was set to 2 MiB.
    const std::string much(1 << 20, 'x');
    Revision fence = 0;
    std::uint64_t seq = 0;
    bool full = false, over = false;
    store.Look([&](const StoreResult&, const LogView& view) {
      fence = view.leader_at;
      seq = view.last;
      over = true;
    });
    Turn({&store}, [&] { return over; });
    while (!full) {
      over = false;
      store.Append(fence, ++seq, much, 1, [&](const StoreResult& result) {
        over = true;
        full = result.answer == StoreAnswer::kFull;
      });
      Turn({&store}, [&] { return over; });
    }
  }

 private:
  std::unique_ptr<EtcdProcess> etcd_;
};

}  // namespace

std::unique_ptr<Place> NewPlace(const std::string& kind) {
  if (kind == "fake") return std::make_unique<FakePlace>();
  auto etcd = EtcdProcess::Start({"--quota-backend-bytes=2097152"});
  return etcd == nullptr ? nullptr : std::make_unique<EtcdPlace>(std::move(etcd));
}

namespace {

class FullStore : public StoreSuite {};

TEST_P(FullStore, AFullStoreTakesNoPartAndNoLeaderButItsLeaderHoldsOn) {
  const Revision fence = Lead(*a, "a");
  ASSERT_EQ(Append(*a, fence, 1, "one"), StoreAnswer::kDone);
  static_cast<FillablePlace&>(*place_).Fill(*a);
  const std::uint64_t last = Look(*a).last;
  EXPECT_EQ(Append(*a, fence, last + 1, "more"), StoreAnswer::kFull);
  EXPECT_EQ(Append(*a, fence, last + 1, "more"), StoreAnswer::kFull) << "and may be sent again";
  const LogView before = Look(*a);
  Watched watched;
  auto b = NewStore();
  b->Follow(before.at + 1, watched);
  EXPECT_NE(before.beat_at, 0);
  EXPECT_EQ(Beat(*a, fence), StoreAnswer::kDone);
  EXPECT_EQ(Beat(*a, fence), StoreAnswer::kDone) << "as often as it likes";
  EXPECT_EQ(Look(*a).beat_at, 0) << "which shows that it holds on";
  place_->Turn({b.get()}, [&] { return !watched.said.empty(); });
  EXPECT_EQ(watched.said, "no beat;");
  LogStore::Acquired acquired;
  EXPECT_NE(Acquire(*b, before, ReignOf("b"), acquired), StoreAnswer::kDone);
  EXPECT_EQ(Acquire(*b, Look(*b), ReignOf("b"), acquired), StoreAnswer::kFull);
  EXPECT_EQ(Trim(*a, fence, 2), StoreAnswer::kDone);
  EXPECT_EQ(Look(*a).last, last);
}

INSTANTIATE_TEST_SUITE_P(Fake, StoreSuite, testing::Values("fake"));
INSTANTIATE_TEST_SUITE_P(Etcd, StoreSuite, testing::Values("etcd"));
INSTANTIATE_TEST_SUITE_P(Fake, FullStore, testing::Values("fake"));
INSTANTIATE_TEST_SUITE_P(Etcd, FullStore, testing::Values("etcd"));

class EtcdOnly : public StoreSuite {};

TEST_P(EtcdOnly, APartThatIsTooLargeIsRefused) {
  const Revision fence = Lead(*a, "a");
  EXPECT_EQ(Append(*a, fence, 1, std::string(2 << 20, 'x')), StoreAnswer::kFailed);
}

TEST_P(EtcdOnly, ANodeThatIsAwayIsNoTroubleAsLongAsAnotherAnswers) {
  Look(*a);  // answered when the node is up
  const std::string away = FreeAddress();
  auto store = static_cast<EtcdPlace&>(*place_).NewStore(away);
  EXPECT_TRUE(Wait(*store, [&](LogStore::Done done) { store->Open(std::move(done)); }).done());
  EXPECT_EQ(store->Stats().trouble, "");
  Look(*store);
  EXPECT_EQ(store->Stats().trouble, "");
  const std::vector<EndpointStats> endpoints = store->Stats().endpoints;
  ASSERT_EQ(endpoints.size(), 2U);
  EXPECT_EQ(endpoints[1].name, away);
  EXPECT_EQ(endpoints[1].db_bytes, 0U);
  // Asked for again and again, should the node have been too slow.
  place_->Turn({store.get()}, [&] { return store->Stats().endpoints[0].db_bytes > 0; });
}

INSTANTIATE_TEST_SUITE_P(Etcd, EtcdOnly, testing::Values("etcd"));

}  // namespace
}  // namespace gearstalk
