#include "broker/replica/stored_bodies.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "tests/replica/fake_store.h"
#include "tests/replica/parts.h"

namespace gearstalk {
namespace {

using Result = BodyRead::Result;

// Jobs whose records lie in parts of 1,000 bytes of payload, one behind the other.
class StoredBodiesTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kPiece = 1000;

  StoredBodiesTest() {
    shard_.view.leader_at = 1;
    space_.Begin(1);
  }

  static std::string BodyOf(std::uint64_t id, std::size_t size) {
    std::string body = std::to_string(id) + ' ';
    body.resize(size, static_cast<char>('a' + id % 26));
    return body;
  }
  void Put(std::uint64_t id, std::size_t size = 300) {
    const std::string body = BodyOf(id, size);
    const Record record = PutOf(id, body);
    const std::string frame = FrameOf(record);
    compactor_.OnRecord(record, space_.OnFrame(record, frame.size()));
    waiting_ += frame;
    sizes_[id] = size;
  }
  void Store() {
    for (; !waiting_.empty(); waiting_.erase(0, kPiece)) {
      const std::string payload = waiting_.substr(0, kPiece);
      const std::uint64_t seq = ++shard_.view.last;
      PartHeader header;
      shard_.parts[seq] = EncodePart(header, payload, 0);
      space_.OnStored(compactor_.current(), seq, 0, {static_cast<std::uint32_t>(payload.size())});
    }
  }
  void PutAndStore(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t id = first; id <= last; ++id) Put(id);
    Store();
  }
  LiveJobs::Place PlaceOf(std::uint64_t id) { return compactor_.Find(id); }
  void Ask(std::uint64_t id, BodyUse use = BodyUse::kReply) { bodies_.Ask(id, use, PlaceOf(id)); }
  // Until nothing is under way and nothing that is stored is asked for.
  void Run() {
    for (std::uint64_t before = UINT64_MAX; before != link_.fetches;) {
      simulation_.RunUntil(simulation_.now + 10 * kSecond);
      before = link_.fetches;
      bodies_.Send(fence_);
    }
    simulation_.RunUntil(simulation_.now + 10 * kSecond);
  }
  Result Read(std::uint64_t id) {
    results_.erase(id);
    Ask(id);
    Run();
    return results_.at(id);
  }
  // The first part that has some of the job's record.
  std::string& PartOf(std::uint64_t id) {
    std::vector<PartPiece> pieces;
    space_.Locate(PlaceOf(id).segment, PlaceOf(id).offset, PlaceOf(id).offset + 1, pieces);
    return shard_.parts.at(pieces.front().seq);
  }
  // A bit of its body.
  void Flip(std::uint64_t id) {
    const LiveJobs::Place place = PlaceOf(id);
    const std::uint64_t end = place.offset + place.bytes;
    std::vector<PartPiece> pieces;
    space_.Locate(place.segment, end - 1, end, pieces);
    shard_.parts.at(pieces.front().seq).at(pieces.front().offset) ^= 1;
  }

  Simulation simulation_{1};
  FakeShard shard_;
  FakeLink link_;
  FakeStore store_{simulation_, shard_, link_};
  Compactor compactor_;
  LogSpace space_{compactor_, true};
  std::function<Time()> boot_ = [this] { return simulation_.now; };
  Revision fence_ = 1;
  std::string waiting_;
  std::map<std::uint64_t, std::size_t> sizes_;
  std::map<std::uint64_t, Result> results_;
  std::vector<std::uint64_t> order_;
  std::string problem_;
  std::vector<StoreAnswer> ends_;
  StoredBodies bodies_{store_, space_, boot_,
                       [this](const StoredBodies::Request& request, const BodyRead& read) {
                         results_[request.id] = read.result;
                         order_.push_back(request.id);
                         problem_ = read.problem;
                         if (read.result == Result::kWhole) {
                           EXPECT_EQ(read.body, BodyOf(request.id, sizes_[request.id]));
                         }
                       },
                       [this](const StoreResult& result) { ends_.push_back(result.answer); }};
};

using Ids = std::vector<std::uint64_t>;

TEST_F(StoredBodiesTest, AreReadAlsoWhereTheyLieInSeveralParts) {
  PutAndStore(1, 20);
  Put(21, 10'000);
  Store();
  for (std::uint64_t id = 1; id <= 21; ++id) EXPECT_EQ(Read(id), Result::kWhole) << id;
}

TEST_F(StoredBodiesTest, OfNeighboursAreOneRead) {
  PutAndStore(1, 100);
  for (const std::uint64_t id : {70, 3, 40, 71, 2}) Ask(id);
  Run();
  EXPECT_EQ(order_, (Ids{2, 3, 40, 70, 71}));
  EXPECT_EQ(link_.fetches, 1U);
}

TEST_F(StoredBodiesTest, TheMostUrgentAreReadFirstAndWhatIsAskedMeanwhileIsTheNextRead) {
  PutAndStore(1, 10);
  Ask(9, BodyUse::kCarry);
  bodies_.Send(fence_);
  Ask(1, BodyUse::kQuery);
  Ask(2, BodyUse::kAhead);
  Ask(3, BodyUse::kReply);
  bodies_.Send(fence_);
  EXPECT_EQ(link_.fetches, 1U) << "one is under way";
  Run();
  EXPECT_EQ(order_, (Ids{9, 3, 2, 1}));
  EXPECT_EQ(link_.fetches, 2U);
}

TEST_F(StoredBodiesTest, AReadOfSeveralHasABound) {
  for (std::uint64_t id = 1; id <= 5; ++id) Put(id, 400'000);
  Store();
  for (std::uint64_t id = 1; id <= 5; ++id) Ask(id);
  Run();
  EXPECT_EQ(order_, (Ids{1, 2, 3, 4, 5}));
  EXPECT_EQ(link_.fetches, 3U);
}

TEST_F(StoredBodiesTest, ThoseThatAreNotStoredYetWait) {
  PutAndStore(1, 3);
  Put(4);
  Ask(4);
  Ask(2);
  Run();
  EXPECT_EQ(order_, (Ids{2}));
  EXPECT_EQ(bodies_.oldest(), 1U);
  Store();
  Run();
  EXPECT_EQ(order_, (Ids{2, 4}));
  EXPECT_EQ(bodies_.oldest(), UINT64_MAX);
}

TEST_F(StoredBodiesTest, TheOldestSegmentIsKnownUntilTheAnswer) {
  PutAndStore(1, 3);
  space_.Begin(2);
  PutAndStore(4, 6);
  Ask(5, BodyUse::kAhead);
  EXPECT_EQ(bodies_.oldest(), 2U);
  Ask(1, BodyUse::kQuery);
  EXPECT_EQ(bodies_.oldest(), 1U);
  bodies_.Send(fence_);
  EXPECT_EQ(bodies_.oldest(), 1U);
  Run();
  EXPECT_EQ(bodies_.oldest(), UINT64_MAX);
}

TEST_F(StoredBodiesTest, WrongBytesAreDamageOfTheirJobAlone) {
  PutAndStore(1, 9);
  Flip(5);
  for (std::uint64_t id = 1; id <= 9; ++id) Ask(id);
  Run();
  for (std::uint64_t id = 1; id <= 9; ++id) {
    EXPECT_EQ(results_.at(id), id == 5 ? Result::kDamaged : Result::kWhole) << id;
  }
  EXPECT_EQ(Read(5), Result::kDamaged);
  EXPECT_EQ(problem_, "j/0000000000000002 at offset 332: the record of job 5 is damaged");
  Flip(5);
  EXPECT_EQ(Read(5), Result::kWhole);
}

TEST_F(StoredBodiesTest, ABodyOfAnotherJobIsDamage) {
  Put(1);
  Put(2);
  Store();
  LiveJobs::Place place = PlaceOf(2);
  bodies_.Ask(1, BodyUse::kReply, place);
  Run();
  EXPECT_EQ(results_.at(1), Result::kDamaged);
}

TEST_F(StoredBodiesTest, PartsThatAreGoneOrCutOffAreDamage) {
  PutAndStore(1, 20);
  PartOf(5).resize(100);
  shard_.parts.erase(4);
  for (std::uint64_t id = 1; id <= 20; ++id) Ask(id);
  Run();
  EXPECT_EQ(results_.at(1), Result::kWhole);
  EXPECT_EQ(results_.at(5), Result::kDamaged);
  EXPECT_EQ(results_.at(10), Result::kDamaged) << "it is in the fourth part";
  EXPECT_EQ(results_.at(20), Result::kWhole);
}

TEST_F(StoredBodiesTest, APartThatCannotBeReadHoldsUpNoOther) {
  PutAndStore(1, 20);
  for (const Code code : {Code::kIo, Code::kCorrupt}) {
    shard_.unreadable = {{2, code}};
    results_.clear();
    for (std::uint64_t id = 1; id <= 20; ++id) Ask(id);
    Run();
    for (std::uint64_t id = 1; id <= 20; ++id) {
      const bool there = id <= 3 || id >= 8;
      const Result bad = code == Code::kIo ? Result::kFailed : Result::kDamaged;
      EXPECT_EQ(results_.at(id), there ? Result::kWhole : bad) << id;
    }
    EXPECT_EQ(bodies_.oldest(), UINT64_MAX);
  }
  shard_.unreadable.clear();
  EXPECT_EQ(Read(5), Result::kWhole);
}

TEST_F(StoredBodiesTest, NothingIsReadForABrokerThatDoesNotLead) {
  PutAndStore(1, 3);
  shard_.view.leader_at = 2;
  Ask(1);
  Run();
  EXPECT_TRUE(results_.empty());
  EXPECT_EQ(ends_, (std::vector<StoreAnswer>{StoreAnswer::kFenced}));
}

TEST_F(StoredBodiesTest, OfSegmentsThatLeftTheLogFail) {
  PutAndStore(1, 3);
  const LiveJobs::Place place = PlaceOf(1);
  space_.Begin(2);
  PutAndStore(4, 6);
  bodies_.Ask(1, BodyUse::kQuery, place);
  Ask(5, BodyUse::kQuery);
  space_.OnTrimmed(space_.FirstOf(2));
  fence_ = 0;
  Run();
  EXPECT_EQ(results_.at(1), Result::kFailed);
  EXPECT_EQ(results_.at(5), Result::kWhole);
}

// Calls that are lost are made again, as all calls of a store are.
TEST_F(StoredBodiesTest, ComeLateWhereTheStoreIsAway) {
  PutAndStore(1, 3);
  link_.cut = true;
  Ask(1);
  Run();
  EXPECT_TRUE(results_.empty());
  EXPECT_EQ(bodies_.oldest(), 1U);
  link_.cut = false;
  Run();
  EXPECT_EQ(results_.at(1), Result::kWhole);
}

// A read that fails is made again for each body alone; the log may leave them behind meanwhile.
TEST_F(StoredBodiesTest, ThoseThatAreToBeReadAloneKeepTheirSegment) {
  PutAndStore(1, 6);
  shard_.unreadable = {{1, Code::kIo}};
  bodies_.Ask(1, BodyUse::kQuery, PlaceOf(1));
  bodies_.Ask(6, BodyUse::kQuery, PlaceOf(6));
  fence_ = 0;
  bodies_.Send(fence_);
  simulation_.RunUntil(simulation_.now + 10 * kSecond);
  EXPECT_TRUE(results_.empty());
  EXPECT_EQ(bodies_.oldest(), 1U);
  space_.Begin(2);
  PutAndStore(7, 9);
  space_.OnTrimmed(space_.FirstOf(2));
  bodies_.Send(fence_);
  EXPECT_EQ(results_,
            (std::map<std::uint64_t, Result>{{1, Result::kFailed}, {6, Result::kFailed}}));
  EXPECT_EQ(problem_, "its record was carried forward");
  EXPECT_EQ(bodies_.oldest(), UINT64_MAX);
  EXPECT_EQ(link_.fetches, 1U);
}

TEST_F(StoredBodiesTest, OfDistantPlacesOneThatFailsHoldsUpNoOther) {
  PutAndStore(1, 3);
  Put(4, 40'000);
  PutAndStore(5, 8);
  shard_.unreadable = {{1, Code::kIo}};
  Ask(1);
  Ask(8);
  Run();
  EXPECT_EQ(results_, (std::map<std::uint64_t, Result>{{1, Result::kFailed}, {8, Result::kWhole}}));
  EXPECT_EQ(link_.fetches, 3U) << "one of both, and one of each";
}

TEST_F(StoredBodiesTest, AReadHasABoundedNumberOfPlaces) {
  for (std::uint64_t id = 1; id <= 140; ++id) Put(id, id % 2 == 0 ? 300 : 18'000);
  Store();
  for (std::uint64_t id = 2; id <= 140; id += 2) Ask(id);
  Run();
  ASSERT_EQ(results_.size(), 70U);
  for (const auto& [id, result] : results_) EXPECT_EQ(result, Result::kWhole) << id;
  EXPECT_EQ(link_.fetches, 2U) << "of 64 places, and of six";
}

// The leader deleted the parts while a standby read them.
TEST_F(StoredBodiesTest, OfPartsThatLeaveTheLogMeanwhileAreNotDamaged) {
  PutAndStore(1, 3);
  Ask(2);
  fence_ = 0;
  bodies_.Send(fence_);
  space_.Begin(2);
  PutAndStore(4, 6);
  const std::uint64_t first = space_.FirstOf(2);
  shard_.parts.erase(shard_.parts.begin(), shard_.parts.lower_bound(first));
  space_.OnTrimmed(first);
  Run();
  EXPECT_EQ(results_.at(2), Result::kFailed);
  EXPECT_EQ(problem_, "its record was carried forward");
}

TEST_F(StoredBodiesTest, FramesWithOtherLengthsAreDamaged) {
  PutAndStore(1, 1);
  std::string& part = PartOf(1);
  char* const frame = part.data() + kPartHeaderSize;
  const std::size_t body = 300, record = PlaceOf(1).bytes - kReplicaFrameHeader - body;
  WriteFrameHeader(frame, record + body, 0);
  EXPECT_EQ(Read(1), Result::kDamaged) << "it has no body";
  WriteFrameHeader(frame, record, body - 1);
  EXPECT_EQ(Read(1), Result::kDamaged) << "it is shorter";
  WriteFrameHeader(frame, record, body + 1);
  EXPECT_EQ(Read(1), Result::kDamaged) << "it is longer";
  WriteFrameHeader(frame, record, body);
  EXPECT_EQ(Read(1), Result::kWhole);
}

}  // namespace
}  // namespace gearstalk
