// Bodies that are read back from the segments.

#include <gtest/gtest.h>
#include <poll.h>

#include <cerrno>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "broker/journal/no_events.h"
#include "broker/journal/wal/wal_journal.h"
#include "tests/journal/faulty_file_system.h"
#include "tests/journal/model.h"

namespace gearstalk {
namespace {

using Result = BodyRead::Result;

// A live state that has only some of its bodies.
class Cold final : public LiveState {
 public:
  Status Apply(const Record& record) override { return model.Apply(record); }
  bool Capture(std::uint64_t id, const std::function<void(const Record&)>& emit) override {
    return model.Capture(id, [&](Record record) {
      if (cold.contains(id)) {
        record.body_left_out = static_cast<std::uint32_t>(record.body.size());
        record.body = {};
      }
      emit(record);
    });
  }
  void CaptureSettings(const std::function<void(const Record&)>& emit) override {
    model.CaptureSettings(emit);
  }
  std::uint32_t BodyLeftOut(std::uint64_t id) const override {
    return cold.contains(id) ? static_cast<std::uint32_t>(model.state().jobs.at(id).body.size())
                             : 0;
  }
  bool RestsDamaged(std::uint64_t /*id*/) const override { return rests; }
  void OnBody(std::uint64_t id, const BodyRead& read) override {
    results[id].push_back(read.result);
    bodies[id] = read.body;
    order.push_back(id);
    problem = read.problem;
  }

  Model model;
  std::set<std::uint64_t> cold;
  bool rests = true;
  std::map<std::uint64_t, std::vector<Result>> results;
  std::map<std::uint64_t, std::string> bodies;
  std::vector<std::uint64_t> order;
  std::string problem;
};

class WalBodies : public testing::Test {
 protected:
  WalBodies() {
    options_.directory = "/data";
    options_.file_system = &disk_;
    options_.own_thread = false;
    options_.segment_size = 4096;
    Start();
  }

  void Start() {
    journal_.reset();
    auto opened = WalJournal::Open(options_);
    ASSERT_TRUE(opened.ok());
    journal_ = std::move(opened.value());
    state_ = std::make_unique<Cold>();
    ASSERT_TRUE(journal_->Start(*state_, events_).ok());
    journal_->OnNotify();
  }

  static std::string BodyOf(std::uint64_t id) {
    return std::to_string(id) + std::string(200 + id * 37 % 300, 'b');
  }
  std::uint64_t Put() {
    const std::uint64_t id = state_->model.state().next_id;
    state_->model.Put(*journal_, "t", BodyOf(id));
    return id;
  }
  void Flush() {
    journal_->Flush(0);
    journal_->OnNotify();
  }
  // Jobs come and go, so that old segments may leave the log.
  void Churn() {
    for (int i = 0; i < 100; ++i) {
      state_->model.Delete(*journal_, Put());
      Flush();
    }
  }
  // A bit of the first of these bytes.
  void Flip(const std::string& path, const std::string& where) {
    std::string content = disk_.Content(path);
    content.at(content.find(where)) ^= 1;
    disk_.SetContent(path, content);
  }
  bool Exists(const std::string& path) {
    return disk_.Open(path, FileSystem::Mode::kRead).error == 0;
  }
  void ExpectStoredBytes() {
    EXPECT_EQ(journal_->Segments().stored_bytes + kStateSize, disk_.UsedBytes());
  }
  // Has the body read; its answer is there when it returns.
  Result Read(std::uint64_t id) {
    state_->results.erase(id);
    journal_->Fetch(id, BodyUse::kReply);
    for (int i = 0; i < 3 && !state_->results.contains(id); ++i) Flush();
    return state_->results[id].front();
  }

  FaultyFileSystem disk_;
  WalOptions options_;
  NoEvents events_;
  std::unique_ptr<Cold> state_;
  std::unique_ptr<WalJournal> journal_;
};

TEST_F(WalBodies, AreReadBackFromEverySegmentAndAfterARestart) {
  for (int i = 0; i < 100; ++i) {
    Put();
    if (i % 3 == 0) Flush();
  }
  Flush();
  ASSERT_GT(journal_->Segments().count, 3U);
  for (std::uint64_t id = 1; id <= 100; ++id) {
    EXPECT_EQ(Read(id), Result::kWhole);
    EXPECT_EQ(state_->bodies[id], BodyOf(id));
  }
  EXPECT_TRUE(journal_->Close().ok());
  Start();
  for (std::uint64_t id = 1; id <= 100; ++id) {
    EXPECT_EQ(Read(id), Result::kWhole);
    EXPECT_EQ(state_->bodies[id], BodyOf(id));
  }
}

TEST_F(WalBodies, IsNotAnsweredInTheCallThatAsks) {
  const std::uint64_t id = Put();
  journal_->Fetch(id, BodyUse::kReply);
  EXPECT_TRUE(state_->results.empty()) << "it is not even written yet";
  Flush();
  Flush();
  EXPECT_EQ(state_->bodies[id], BodyOf(id));
  EXPECT_EQ(journal_->OnDisk(), journal_->Durable());
}

TEST_F(WalBodies, ComeInTheOrderOfTheDiskAndNeighboursInOneRead) {
  for (int i = 0; i < 9; ++i) Put();
  Flush();
  for (const std::uint64_t id : {7, 3, 1, 8, 2}) journal_->Fetch(id, BodyUse::kAhead);
  const std::uint64_t before = disk_.reads();
  Flush();
  EXPECT_EQ(state_->order, (std::vector<std::uint64_t>{1, 2, 3, 7, 8}));
  EXPECT_EQ(disk_.reads(), before + 2) << "one of the header, one of all bodies";
}

TEST_F(WalBodies, AreWholeAfterShortReads) {
  const std::uint64_t id = Put();
  Flush();
  disk_.LimitReads(7);
  EXPECT_EQ(Read(id), Result::kWhole);
  EXPECT_EQ(state_->bodies[id], BodyOf(id));
}

TEST_F(WalBodies, AReadThatFailsOnceIsTriedAgainAtOnce) {
  const std::uint64_t id = Put();
  Flush();
  EXPECT_EQ(Read(id), Result::kWhole);
  disk_.FailReads(-EIO, 1);
  EXPECT_EQ(Read(id), Result::kWhole);
}

TEST_F(WalBodies, AnErrorOfTheDiskIsNoDamage) {
  const std::uint64_t id = Put();
  Flush();
  disk_.FailReads(-EIO, 1000);
  EXPECT_EQ(Read(id), Result::kFailed);
  EXPECT_NE(state_->problem.find("0000000001.wal"), std::string::npos) << state_->problem;
  disk_.FailReads(0, 0);
  EXPECT_EQ(Read(id), Result::kWhole);
}

TEST_F(WalBodies, AnErrorOfTheSystemIsNoDamage) {
  const std::uint64_t id = Put();
  Put();
  Flush();
  for (const int error : {-EAGAIN, -EMFILE, -ENFILE, -ENOMEM}) {
    disk_.FailReads(error, 2);
    EXPECT_EQ(Read(id), Result::kFailed);
    EXPECT_EQ(Read(id), Result::kWhole);
  }
  disk_.FailReads(-EINTR, 5);
  EXPECT_EQ(Read(id), Result::kWhole);
}

TEST_F(WalBodies, WhatCannotBeReadIsDamagedIfTheNextFrameCan) {
  for (int i = 0; i < 3; ++i) Put();
  Flush();
  const std::string path = "/data/0000000001.wal";
  const std::size_t at = disk_.Content(path).find(BodyOf(2));
  disk_.FailReadsAt(path, at, at + 1, -EIO);
  EXPECT_EQ(Read(2), Result::kDamaged);
  EXPECT_EQ(Read(1), Result::kWhole);
  EXPECT_EQ(Read(3), Result::kWhole);
  disk_.FailReadsAt(path, 0, 0, 0);
  EXPECT_EQ(Read(2), Result::kWhole);
}

TEST_F(WalBodies, WhatCannotBeReadIsDamagedIfAnotherSegmentCan) {
  for (int i = 0; i < 60; ++i) {
    Put();
    Flush();
  }
  ASSERT_EQ(Read(1), Result::kWhole);
  disk_.FailReadsAt("/data/0000000001.wal", 0, UINT64_MAX, -EIO);
  EXPECT_EQ(Read(1), Result::kDamaged);
  EXPECT_EQ(Read(60), Result::kWhole);
}

TEST_F(WalBodies, AFrameBehindTheEndOfItsFileIsDamaged) {
  for (int i = 0; i < 60; ++i) {
    Put();
    Flush();
  }
  const std::string path = "/data/0000000001.wal";
  disk_.SetContent(path, disk_.Content(path).substr(0, 200));
  EXPECT_EQ(Read(1), Result::kDamaged);
}

TEST_F(WalBodies, ADiskThatRecoversBeforeItsNeighbourIsReadDamagesNothing) {
  Put();
  Put();
  Flush();
  ASSERT_EQ(Read(1), Result::kWhole);
  disk_.FailReads(-EIO, 2);
  EXPECT_EQ(Read(1), Result::kWhole);
}

TEST_F(WalBodies, ADiskThatAnswersNothingButErrorsIsTriedTwiceASecond) {
  for (int i = 0; i < 60; ++i) {
    Put();
    Flush();
  }
  for (std::uint64_t id = 1; id <= 60; ++id) ASSERT_EQ(Read(id), Result::kWhole);
  disk_.FailReads(-EIO, UINT64_MAX);
  for (std::uint64_t id = 1; id <= 5; ++id) EXPECT_EQ(Read(id), Result::kFailed);
  const std::uint64_t reads = disk_.reads();
  journal_->Verify(1);
  EXPECT_LT(journal_->Tick(kSecond), 2 * kSecond);
  for (std::uint64_t id = 1; id <= 60; ++id) EXPECT_EQ(Read(id), Result::kFailed);
  EXPECT_EQ(disk_.reads(), reads) << "nobody asks it, the background reader included";
  for (int i = 1; i <= 3; ++i) {
    disk_.Advance(kSecond / 2);
    for (std::uint64_t id = 1; id <= 60; ++id) EXPECT_EQ(Read(id), Result::kFailed);
    EXPECT_EQ(disk_.reads(), reads + i);
  }
  disk_.FailReads(0, 0);
  disk_.Advance(kSecond / 2);
  for (std::uint64_t id = 1; id <= 60; ++id) EXPECT_EQ(Read(id), Result::kWhole);
  journal_->Tick(2 * kSecond);
  Flush();
  EXPECT_GT(journal_->Verified().bytes, 0U);
}

TEST_F(WalBodies, ASegmentThatCannotBeOpenedStopsNoOther) {
  for (int i = 0; i < 60; ++i) {
    Put();
    Flush();
  }
  disk_.Unlink("/data/0000000001.wal");
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Read(1), Result::kFailed);
    EXPECT_EQ(Read(60), Result::kWhole);
  }
}

TEST_F(WalBodies, AFileThatIsGoneIsNoDamage) {
  const std::uint64_t id = Put();
  Flush();
  disk_.Unlink("/data/0000000001.wal");
  EXPECT_EQ(Read(id), Result::kFailed);
}

// Whichever byte of the frame is another one, the body is not handed out.
TEST_F(WalBodies, AFlippedByteIsFoundAndNeighboursAreRead) {
  for (int i = 0; i < 3; ++i) Put();
  Flush();
  const std::string path = "/data/0000000001.wal";
  const std::string whole = disk_.Content(path);
  const std::size_t at = whole.find(BodyOf(2));
  ASSERT_NE(at, std::string::npos);
  for (std::size_t byte = at - 20; byte < at + BodyOf(2).size(); byte += 3) {
    std::string flipped = whole;
    flipped[byte] = static_cast<char>(flipped[byte] ^ 0x10);
    disk_.SetContent(path, flipped);
    ASSERT_EQ(Read(2), Result::kDamaged) << byte;
    ASSERT_EQ(state_->bodies[2], "");
    ASSERT_EQ(Read(1), Result::kWhole);
    ASSERT_EQ(Read(3), Result::kWhole);
  }
  disk_.SetContent(path, whole);
  EXPECT_EQ(Read(2), Result::kWhole);
}

// Another job's record, whole and at this very place.
TEST_F(WalBodies, AFrameOfAnotherJobIsNoAnswer) {
  Put();
  Flush();
  const auto image = disk_.Image();
  options_.directory = "/other";
  options_.salt = 1;
  disk_.MakeDirectory("/other");
  Start();
  state_->model.Put(*journal_, "t", BodyOf(9));
  Flush();
  ASSERT_EQ(Read(1), Result::kWhole);
  std::string foreign;
  for (const auto& [name, content] : image) {
    if (name.ends_with("0000000001.wal")) foreign = content;
  }
  ASSERT_FALSE(foreign.empty());
  disk_.SetContent("/other/0000000001.wal", foreign);
  EXPECT_NE(Read(1), Result::kWhole);
}

// The segment of a body that was asked for stays until it is read, although its job is gone and
// the log has moved on.
TEST_F(WalBodies, ASegmentIsNotRemovedUnderARead) {
  const std::uint64_t id = Put();
  Flush();
  journal_->Fetch(id, BodyUse::kReply);
  state_->model.Delete(*journal_, id);
  for (int i = 0; i < 60; ++i) state_->model.Delete(*journal_, Put());
  EXPECT_TRUE(state_->results.empty());
  for (int i = 0; i < 5; ++i) Flush();
  EXPECT_EQ(state_->results[id], (std::vector<Result>{Result::kWhole}));
  EXPECT_EQ(state_->bodies[id], BodyOf(id));
  for (int i = 0; i < 20; ++i) {
    state_->model.Delete(*journal_, Put());
    Flush();
  }
  EXPECT_GT(journal_->Segments().oldest, 1U) << "now it may go";
}

// Every second job is finished; the others are carried out of the old segments without ever having
// been in memory.
TEST_F(WalBodies, ColdJobsAreCarriedForward) {
  std::mt19937 lot(1);
  std::set<std::uint64_t> live;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t id = Put();
    state_->cold.insert(id);
    live.insert(id);
    if (live.size() > 50) {
      const auto gone = std::next(live.begin(), static_cast<std::ptrdiff_t>(lot() % live.size()));
      state_->model.Delete(*journal_, *gone);
      live.erase(gone);
    }
    if (i % 3 == 0) Flush();
    if (i % 7 == 0) {
      const std::uint64_t some =
          *std::next(live.begin(), static_cast<std::ptrdiff_t>(lot() % live.size()));
      ASSERT_EQ(Read(some), Result::kWhole);
      ASSERT_EQ(state_->bodies[some], BodyOf(some));
    }
  }
  for (int i = 0; i < 100; ++i) Flush();
  EXPECT_GT(journal_->Segments().migrated, 50U);
  EXPECT_LT(journal_->Segments().count, 40U);
  const Model::State before = state_->model.state();
  EXPECT_TRUE(journal_->Close().ok());
  Start();
  EXPECT_TRUE(state_->model.state() == before) << "bodies, too";
}

TEST_F(WalBodies, CompactionWaitsForADiskThatAnswersNothingAndLosesNothing) {
  for (int i = 0; i < 20; ++i) state_->cold.insert(Put());
  Flush();
  for (std::uint64_t id = 1; id <= 20; id += 2) state_->model.Delete(*journal_, id);
  disk_.FailReads(-EIO, UINT64_MAX);
  for (int i = 0; i < 100; ++i) {
    state_->model.Delete(*journal_, Put());
    Flush();
  }
  EXPECT_EQ(journal_->Segments().oldest, 1U);
  disk_.FailReads(0, 0);
  disk_.Advance(kSecond);
  for (int i = 0; i < 100; ++i) {
    state_->model.Delete(*journal_, Put());
    Flush();
  }
  EXPECT_GT(journal_->Segments().oldest, 1U);
  const Model::State before = state_->model.state();
  Start();
  EXPECT_TRUE(state_->model.state() == before);
}

// Its bytes stay in a file of their own: repaired there, they are the body again.
TEST_F(WalBodies, ADamagedFrameIsSetAsideAndItsSegmentGoes) {
  for (int i = 0; i < 20; ++i) state_->cold.insert(Put());
  Flush();
  Flip("/data/" + SegmentName(1), "5bbb");
  state_->rests = false;
  Churn();
  EXPECT_EQ(journal_->Segments().oldest, 1U) << "until its job is buried";
  EXPECT_EQ(state_->results[5].front(), Result::kDamaged);
  state_->rests = true;
  Churn();
  EXPECT_GT(journal_->Segments().oldest, 1U);
  const std::string aside = "/data/5.damaged";
  ExpectStoredBytes();
  EXPECT_EQ(Read(5), Result::kDamaged);
  EXPECT_EQ(state_->problem, aside + " is damaged");
  ASSERT_TRUE(journal_->Close().ok());
  disk_.SetContent("/data/7.damaged", "of a job that is not damaged");
  Start();
  EXPECT_FALSE(Exists("/data/7.damaged"));
  ExpectStoredBytes();
  EXPECT_EQ(state_->model.state().jobs.at(5).body, "");
  EXPECT_EQ(state_->model.state().jobs.at(6).body, BodyOf(6));
  EXPECT_EQ(Read(5), Result::kDamaged);
  Flip(aside, "4bbb");
  EXPECT_EQ(Read(5), Result::kWhole);
  EXPECT_EQ(state_->bodies[5], BodyOf(5));
  state_->model.Delete(*journal_, 5);
  for (int i = 0; i < 3; ++i) Flush();
  EXPECT_FALSE(Exists(aside));
  ExpectStoredBytes();
}

TEST_F(WalBodies, WhatWasSetAsideStaysWhereAStartCannotReadIt) {
  state_->cold.insert(Put());
  Flush();
  Flip("/data/" + SegmentName(1), "1bbb");
  Churn();
  ASSERT_TRUE(journal_->Close().ok());
  const std::string aside = "/data/1.damaged";
  const std::string content = disk_.Content(aside);
  disk_.SetContent(aside, "short");
  Start();
  Churn();
  EXPECT_TRUE(Exists(aside)) << "its job is carried on";
  ASSERT_TRUE(journal_->Close().ok());
  disk_.SetContent(aside, content);
  Start();
  EXPECT_EQ(Read(1), Result::kDamaged);
}

TEST_F(WalBodies, SegmentsThatTheBackgroundReaderFoundDamagedAreLeft) {
  for (int i = 0; i < 100; ++i) state_->cold.insert(Put());
  Flush();
  const std::string path = "/data/" + SegmentName(2);
  Flip(path, "bbb");
  journal_->Verify(1);
  journal_->Tick(kSecond);
  for (int i = 0; i < 50; ++i) Flush();
  EXPECT_EQ(journal_->Segments().oldest, 3U);
  EXPECT_FALSE(Exists(path));
  const Model::State before = state_->model.state();
  ASSERT_TRUE(journal_->Close().ok());
  Start();
  EXPECT_EQ(state_->model.state().jobs.size(), before.jobs.size());
}

TEST_F(WalBodies, OfAFrameThatCannotBeReadTheOtherSectorsAreSetAside) {
  const std::uint64_t id = state_->model.state().next_id;
  state_->model.Put(*journal_, "t", std::string(2000, 'a'));
  state_->cold.insert(id);
  Flush();
  const std::string path = "/data/" + SegmentName(1);
  const std::size_t begin = disk_.Content(path).find(std::string(2000, 'a'));
  const std::size_t bad = (begin + 1000) / 512 * 512;
  disk_.FailReads(-EIO, UINT64_MAX);
  Churn();
  const std::string aside = "/data/1.damaged";
  EXPECT_FALSE(Exists(aside));
  disk_.FailReads(0, 0);
  disk_.FailReadsAt(path, bad, bad + 1, -EIO);
  disk_.Advance(kSecond);
  Churn();
  EXPECT_GT(journal_->Segments().oldest, 1U);
  const std::string bytes = disk_.Content(aside);
  std::string body(2000, 'a');
  body.replace(bad - begin, 512, 512, '\0');
  EXPECT_TRUE(bytes.ends_with(body));
  EXPECT_EQ(Read(id), Result::kDamaged);
}

TEST_F(WalBodies, ThreadsReadWhileTheLogGoesOn) {
  options_.own_thread = true;
  Start();
  std::set<std::uint64_t> wanted;
  const auto hear = [&] {
    pollfd readable{journal_->NotifyFd(), POLLIN, 0};
    ASSERT_EQ(::poll(&readable, 1, 60'000), 1);
    journal_->OnNotify();
  };
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t id = Put();
    journal_->Fetch(id, i % 2 == 0 ? BodyUse::kReply : BodyUse::kQuery);
    if (i % 5 != 0) state_->model.Delete(*journal_, id);
    if (i % 50 == 0) journal_->Flush(0);
  }
  journal_->Flush(0);
  while (state_->results.size() < 3000) hear();
  for (std::uint64_t id = 1; id <= 3000; ++id) {
    ASSERT_EQ(state_->results[id], (std::vector<Result>{Result::kWhole})) << id;
    ASSERT_EQ(state_->bodies[id], BodyOf(id));
  }
  EXPECT_TRUE(journal_->Close().ok());
}

TEST_F(WalBodies, WhatTheBackgroundReaderFindsIsReadOnceMore) {
  for (int i = 0; i < 60; ++i) Put();
  Flush();
  const std::string path = "/data/" + SegmentName(2);
  Flip(path, "bbb");
  journal_->Verify(1);
  journal_->Tick(kSecond);
  for (int i = 0; i < 3; ++i) Flush();
  ASSERT_EQ(state_->results.size(), 1U);
  EXPECT_EQ(state_->results.begin()->second, std::vector{Result::kDamaged});
  EXPECT_EQ(journal_->Verified().damaged, 1U);
}

TEST_F(WalBodies, ReadsThatFailInTheBackgroundDamageNothing) {
  for (int i = 0; i < 60; ++i) Put();
  Flush();
  disk_.FailReads(-EIO, 1000);
  journal_->Verify(1);
  journal_->Tick(kSecond);
  for (int i = 0; i < 3; ++i) Flush();
  disk_.FailReads(0, 0);
  for (int i = 0; i < 3; ++i) Flush();
  EXPECT_TRUE(state_->results.empty());
  EXPECT_EQ(journal_->Verified().damaged, 0U);
}

}  // namespace
}  // namespace gearstalk
