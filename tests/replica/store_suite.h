#pragma once

// What every LogStore does. A test of a store makes a Place of it, and instantiates the suite.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/replica/log_store.h"

namespace gearstalk {

// A shard that several stores share.
class Place {
 public:
  virtual ~Place() = default;
  virtual std::unique_ptr<LogStore> NewStore() = 0;
  // Goes on until `over`.
  virtual void Turn(const std::vector<LogStore*>& stores, const std::function<bool()>& over) = 0;
};

class Watched final : public LogWatcher {
 public:
  void OnPart(LogPart part) override { said += "part " + std::to_string(part.seq) + ";"; }
  void OnReign(const Reign& reign, Revision) override {
    said += (reign.vacant ? "vacant " : "reign ") + reign.broker + ";";
  }
  void OnBeat(Revision beat, Revision) override { said += beat == 0 ? "no beat;" : "beat;"; }
  void OnSeen(Revision at) override { seen = at; }
  void OnWatchEnd(const StoreResult&) override { said += "end;"; }

  std::string said;
  Revision seen = 0;
};

// Each test program has its own; nullptr: what it needs is not on this machine.
std::unique_ptr<Place> NewPlace(const std::string& kind);

class StoreSuite : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    place_ = NewPlace(GetParam());
    if (place_ == nullptr) GTEST_SKIP() << "there is no " << GetParam();
    a = NewStore();
  }

  // Opens it, which waits until it can be reached.
  std::unique_ptr<LogStore> NewStore() {
    std::unique_ptr<LogStore> store = place_->NewStore();
    bool open = false;
    store->Open([&](const StoreResult& result) { open = result.done(); });
    place_->Turn({store.get()}, [&] { return open; });
    return store;
  }

  // Calls a function that answers with one result, and waits for it.
  StoreResult Wait(LogStore& store, const std::function<void(LogStore::Done)>& call) {
    bool over = false;
    StoreResult answer;
    call([&](const StoreResult& result) {
      over = true;
      answer = result;
    });
    place_->Turn({&store}, [&] { return over; });
    return answer;
  }
  LogView Look(LogStore& store) {
    LogView seen;
    Wait(store, [&](const LogStore::Done& done) {
      store.Look([&seen, done](const StoreResult& result, const LogView& view) {
        seen = view;
        done(result);
      });
    });
    return seen;
  }
  StoreAnswer Acquire(LogStore& store, const LogView& seen, const Reign& reign,
                      LogStore::Acquired& acquired) {
    return Wait(store,
                [&](const LogStore::Done& done) {
                  store.Acquire(
                      seen, reign,
                      [&acquired, done](const StoreResult& result, const LogStore::Acquired& got) {
                        acquired = got;
                        done(result);
                      });
                })
        .answer;
  }
  StoreAnswer Append(LogStore& store, Revision fence, std::uint64_t seq, const std::string& bytes,
                     std::uint64_t oldest = 1) {
    return Wait(store,
                [&](const LogStore::Done& done) { store.Append(fence, seq, bytes, oldest, done); })
        .answer;
  }
  StoreAnswer Beat(LogStore& store, Revision fence) {
    return Wait(store,
                [&](const LogStore::Done& done) {
                  store.Beat(fence, 1, [done](const StoreResult& result, Time) { done(result); });
                })
        .answer;
  }
  StoreAnswer Trim(LogStore& store, Revision fence, std::uint64_t below) {
    bool more = true;
    StoreResult result;
    while (more) {
      result = Wait(store, [&](const LogStore::Done& done) {
        store.Trim(fence, below, [&more, done](const StoreResult& answer, bool has_more) {
          more = has_more;
          done(answer);
        });
      });
    }
    return result.answer;
  }
  std::vector<LogPart> Read(LogStore& store, std::uint64_t from, std::uint64_t count) {
    std::vector<LogPart> read;
    const Revision at = Look(store).at;
    Wait(store, [&](const LogStore::Done& done) {
      store.Read(from, count, at,
                 [&read, done](const StoreResult& result, std::vector<LogPart> parts) {
                   read = std::move(parts);
                   done(result);
                 });
    });
    return read;
  }
  StoreAnswer Fetch(LogStore& store, Revision fence, const std::vector<PartPiece>& pieces,
                    std::vector<std::string>& read) {
    return Wait(store,
                [&](const LogStore::Done& done) {
                  store.Fetch(fence, pieces,
                              [&read, done](const StoreResult& result,
                                            const std::vector<std::string>& got) {
                                read = got;
                                done(result);
                              });
                })
        .answer;
  }
  static Reign ReignOf(const std::string& broker, std::uint64_t attempt = 1) {
    Reign reign;
    reign.broker = broker;
    reign.id = "id of " + broker;
    reign.attempt = attempt;
    reign.epoch = attempt;
    reign.lease = 2 * kSecond;
    reign.address = "127.0.0.1:11300";
    return reign;
  }
  // The store is the leader of an empty shard.
  Revision Lead(LogStore& store, const std::string& broker) {
    LogStore::Acquired acquired;
    EXPECT_EQ(Acquire(store, Look(store), ReignOf(broker), acquired), StoreAnswer::kDone);
    return acquired.fence;
  }

  std::unique_ptr<Place> place_;
  std::unique_ptr<LogStore> a;
};

TEST_P(StoreSuite, BeginsEmpty) {
  const LogView view = Look(*a);
  EXPECT_EQ(view.leader_at, 0);
  EXPECT_EQ(view.beat_at, 0);
  EXPECT_EQ(view.tail_at, 0);
  EXPECT_EQ(view.meta_at, 0);
  EXPECT_EQ(view.last, 0U);
  EXPECT_EQ(view.oldest, 1U);
}

TEST_P(StoreSuite, IsFoundedOnce) {
  const ShardMeta meta{1, 0, "gear\"stalkd", "2026-01-02T03:04:05Z"};
  const auto found = [&](LogStore::Done done) { a->Found(meta, std::move(done)); };
  EXPECT_EQ(Wait(*a, found).answer, StoreAnswer::kDone);
  EXPECT_EQ(Wait(*a, found).answer, StoreAnswer::kFenced);
  const LogView view = Look(*a);
  EXPECT_EQ(view.meta.format, 1U);
  EXPECT_EQ(view.meta.server_name, meta.server_name);
  EXPECT_EQ(view.meta.created, meta.created);
}

TEST_P(StoreSuite, OneOfTwoAcquires) {
  const LogView seen = Look(*a);
  auto b = NewStore();
  LogStore::Acquired first, second;
  EXPECT_EQ(Acquire(*a, seen, ReignOf("a"), first), StoreAnswer::kDone);
  EXPECT_EQ(Acquire(*b, seen, ReignOf("b"), second), StoreAnswer::kFenced);
  const LogView view = Look(*b);
  EXPECT_EQ(view.leader_at, first.fence);
  EXPECT_EQ(view.leader.broker, "a");
  EXPECT_EQ(view.leader.address, "127.0.0.1:11300");
  EXPECT_EQ(view.leader.lease, 2 * kSecond);
  EXPECT_FALSE(view.leader.vacant);
}

TEST_P(StoreSuite, AnAcquireOfASilentLeaderFailsAfterABeat) {
  const Revision fence = Lead(*a, "a");
  auto b = NewStore();
  const LogView seen = Look(*b);
  EXPECT_EQ(Beat(*a, fence), StoreAnswer::kDone);
  LogStore::Acquired acquired;
  EXPECT_EQ(Acquire(*b, seen, ReignOf("b"), acquired), StoreAnswer::kFenced);
  EXPECT_EQ(Acquire(*b, Look(*b), ReignOf("b"), acquired), StoreAnswer::kDone);
}

TEST_P(StoreSuite, AVacantShardIsAcquiredWhateverItsBeatIs) {
  const Revision fence = Lead(*a, "a");
  Wait(*a, [&](LogStore::Done done) { a->Release(fence, ReignOf("a"), std::move(done)); });
  const LogView seen = Look(*a);
  EXPECT_TRUE(seen.leader.vacant);
  LogStore::Acquired acquired;
  EXPECT_EQ(Acquire(*a, seen, ReignOf("a", 2), acquired), StoreAnswer::kDone);
  EXPECT_GT(acquired.fence, fence);
}

TEST_P(StoreSuite, PartsAreReadBackAsTheyWereAppended) {
  const Revision fence = Lead(*a, "a");
  std::string binary;
  for (int i = 0; i < 256; ++i) binary += static_cast<char>(i);
  EXPECT_EQ(Append(*a, fence, 1, "one"), StoreAnswer::kDone);
  EXPECT_EQ(Append(*a, fence, 2, binary), StoreAnswer::kDone);
  EXPECT_EQ(Append(*a, fence, 3, "three"), StoreAnswer::kDone);
  EXPECT_EQ(Look(*a).last, 3U);
  const std::vector<LogPart> parts = Read(*a, 2, 16);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].seq, 2U);
  EXPECT_EQ(parts[0].bytes, binary);
  EXPECT_EQ(parts[1].bytes, "three");
  EXPECT_EQ(Read(*a, 1, 1).size(), 1U);
}

TEST_P(StoreSuite, WhoWasTakenOverFromIsFenced) {
  const Revision old = Lead(*a, "a");
  EXPECT_EQ(Append(*a, old, 1, "one"), StoreAnswer::kDone);
  auto b = NewStore();
  const Revision fresh = Lead(*b, "b");
  EXPECT_EQ(Append(*a, old, 2, "late"), StoreAnswer::kFenced);
  EXPECT_EQ(Beat(*a, old), StoreAnswer::kFenced);
  EXPECT_EQ(Trim(*a, old, 2), StoreAnswer::kFenced);
  EXPECT_EQ(Append(*b, fresh, 2, "two"), StoreAnswer::kDone);
  EXPECT_EQ(Read(*b, 1, 16).size(), 2U);
  Wait(*a, [&](LogStore::Done done) { a->Release(old, ReignOf("a"), std::move(done)); });
  EXPECT_EQ(Look(*b).leader_at, fresh);
}

TEST_P(StoreSuite, AnEarlierTryOfTheSameBytesCounts) {
  const LogView seen = Look(*a);
  auto again = NewStore();
  LogStore::Acquired first, second;
  ASSERT_EQ(Acquire(*a, seen, ReignOf("a"), first), StoreAnswer::kDone);
  ASSERT_EQ(Acquire(*again, seen, ReignOf("a"), second), StoreAnswer::kDone);
  EXPECT_EQ(first.fence, second.fence);
  EXPECT_EQ(Append(*a, first.fence, 1, "one"), StoreAnswer::kDone);
  EXPECT_EQ(Append(*again, first.fence, 1, "one"), StoreAnswer::kDone);
  EXPECT_EQ(Append(*again, first.fence, 2, "two"), StoreAnswer::kDone);
  EXPECT_EQ(Append(*a, first.fence, 2, "other"), StoreAnswer::kFailed) << "a foreign writer";
  EXPECT_EQ(Look(*a).last, 2U);
}

TEST_P(StoreSuite, TrimmedPartsAreGoneAndTheRestIsThere) {
  const Revision fence = Lead(*a, "a");
  for (std::uint64_t seq = 1; seq <= 9; ++seq) {
    ASSERT_EQ(Append(*a, fence, seq, "part", seq == 9 ? 6 : 1), StoreAnswer::kDone);
  }
  EXPECT_EQ(Trim(*a, fence, 6), StoreAnswer::kDone);
  EXPECT_EQ(Look(*a).oldest, 6U);
  EXPECT_EQ(Look(*a).last, 9U);
  const std::vector<LogPart> parts = Read(*a, 6, 16);
  ASSERT_EQ(parts.size(), 4U);
  EXPECT_EQ(parts.front().seq, 6U);
  EXPECT_EQ(Append(*a, fence, 10, "more", 6), StoreAnswer::kDone);
}

TEST_P(StoreSuite, PiecesOfPartsAreReadAsTheyAreThere) {
  if (!a->KeepsBodies()) GTEST_SKIP() << "it keeps no bodies";
  const Revision fence = Lead(*a, "a");
  const std::string large = std::string(100'000, 'a') + std::string(100'000, '\0') + "end";
  ASSERT_EQ(Append(*a, fence, 1, "0123456789"), StoreAnswer::kDone);
  ASSERT_EQ(Append(*a, fence, 2, large), StoreAnswer::kDone);
  std::vector<std::string> read;
  EXPECT_EQ(Fetch(*a, fence, {{2, 199'998, 5}, {1, 0, 3}, {1, 9, 1}, {2, 0, 200'003}}, read),
            StoreAnswer::kDone);
  using Pieces = std::vector<std::string>;
  EXPECT_EQ(read, (Pieces{std::string("\0\0end", 5), "012", "9", large}));
  EXPECT_EQ(Fetch(*a, fence, {{1, 8, 5}, {7, 0, 1}}, read), StoreAnswer::kDone);
  EXPECT_EQ(read, (Pieces{"89", ""})) << "what is not there";
}

TEST_P(StoreSuite, WhoDoesNotLeadReadsNoPieces) {
  if (!a->KeepsBodies()) GTEST_SKIP() << "it keeps no bodies";
  const Revision old = Lead(*a, "a");
  ASSERT_EQ(Append(*a, old, 1, "one"), StoreAnswer::kDone);
  auto b = NewStore();
  const Revision fresh = Lead(*b, "b");
  std::vector<std::string> read;
  EXPECT_EQ(Fetch(*a, old, {{1, 0, 3}}, read), StoreAnswer::kFenced);
  EXPECT_TRUE(read.empty());
  EXPECT_EQ(Fetch(*a, 0, {{1, 0, 3}}, read), StoreAnswer::kDone) << "as one that follows";
  EXPECT_EQ(read.size(), 1U);
  EXPECT_EQ(Fetch(*b, fresh, {{1, 0, 3}}, read), StoreAnswer::kDone);
}

// A store may tell only the newest of several beats, so each step is waited for.
TEST_P(StoreSuite, AWatchTellsAllInOrder) {
  const Revision from = Look(*a).at;
  auto b = NewStore();
  Watched watched;
  b->Follow(from + 1, watched);
  const auto told = [&](const std::string& all) {
    place_->Turn({b.get()}, [&] { return watched.said.size() >= all.size(); });
    EXPECT_EQ(watched.said, all);
  };
  const Revision fence = Lead(*a, "a");
  told("reign a;beat;");
  Append(*a, fence, 1, "one");
  told("reign a;beat;part 1;");
  Beat(*a, fence);
  told("reign a;beat;part 1;beat;");
  Append(*a, fence, 2, "two");
  Wait(*a, [&](LogStore::Done done) { a->Release(fence, ReignOf("a"), std::move(done)); });
  told("reign a;beat;part 1;beat;part 2;vacant a;");
  EXPECT_EQ(watched.seen, Look(*a).at);
}

TEST_P(StoreSuite, AWatchGoesOnWhereItWasLeft) {
  const Revision fence = Lead(*a, "a");
  Append(*a, fence, 1, "one");
  const Revision from = Look(*a).at;
  Append(*a, fence, 2, "two");
  auto b = NewStore();
  Watched watched;
  b->Follow(from + 1, watched);
  place_->Turn({b.get()}, [&] { return !watched.said.empty(); });
  EXPECT_EQ(watched.said, "part 2;");
}

}  // namespace gearstalk
