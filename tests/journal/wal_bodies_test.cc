// Bodies that are read back from the segments.

#include <gtest/gtest.h>
#include <poll.h>

#include <cerrno>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "broker/journal/wal/wal_format.h"
#include "tests/journal/cold_journal.h"

namespace gearstalk {
namespace {

using Result = BodyRead::Result;

class WalBodies : public ColdJournal {
 protected:
  // Of 60 bodies, all written, five find out that nothing can be read any more.
  void LoseTheDisk() {
    for (int i = 0; i < 60; ++i) {
      Put();
      Flush();
    }
    for (std::uint64_t id = 1; id <= 60; ++id) ASSERT_EQ(Read(id), Result::kWhole);
    disk_.FailReads(-EIO, UINT64_MAX);
    for (std::uint64_t id = 1; id <= 5; ++id) EXPECT_EQ(Read(id), Result::kFailed);
  }
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
  LoseTheDisk();
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

// What is read and not taken stays below a limit, and what is taken in one round below another.
TEST_F(WalBodies, LargeOnesComeAFewInARound) {
  options_.segment_size = 4 << 20;
  Start();
  constexpr std::size_t kCount = 40;
  for (std::size_t i = 0; i < kCount; ++i) {
    state_->model.Put(*journal_, "t", std::string(1 << 20, static_cast<char>('a' + i % 26)));
    Flush();
  }
  for (std::uint64_t id = 1; id <= kCount; ++id) journal_->Fetch(id, BodyUse::kAhead);
  journal_->Flush(0);
  journal_->OnNotify();
  EXPECT_LE(state_->order.size(), 5U);
  pollfd readable{journal_->NotifyFd(), POLLIN, 0};
  for (int i = 0; i < 20; ++i) {
    if (state_->order.size() < 30) {
      EXPECT_EQ(::poll(&readable, 1, 0), 1) << "there are more";
    }
    journal_->OnNotify();
  }
  EXPECT_LE(state_->order.size(), 33U);
  for (int i = 0; i < 20; ++i) Flush();
  ASSERT_EQ(state_->order.size(), kCount);
  for (std::uint64_t id = 1; id <= kCount; ++id) {
    EXPECT_EQ(state_->results[id].front(), Result::kWhole);
    EXPECT_TRUE(state_->bodies[id] == state_->model.state().jobs.at(id).body) << id;
  }
}

TEST_F(WalBodies, NeighboursAreReadTogetherUpToALimit) {
  options_.segment_size = 4 << 20;
  Start();
  for (int i = 0; i < 9; ++i) state_->model.Put(*journal_, "t", std::string(300'000, 'b'));
  Flush();
  ASSERT_EQ(Read(1), Result::kWhole);
  const std::uint64_t before = disk_.reads();
  for (std::uint64_t id = 1; id <= 9; ++id) journal_->Fetch(id, BodyUse::kAhead);
  Flush();
  EXPECT_EQ(disk_.reads(), before + 3) << "three of a megabyte";
}

// The checksum is right, and the record is another one.
TEST_F(WalBodies, AWholeFrameThatIsNotThePutOfTheJobIsDamaged) {
  for (int i = 0; i < 3; ++i) Put();
  Flush();
  const std::string path = "/data/0000000001.wal";
  const std::string whole = disk_.Content(path);
  SegmentHeader header;
  ASSERT_TRUE(DecodeSegmentHeader(whole, header).ok());
  std::size_t at = whole.find(BodyOf(2));
  while (!DecodeFrame(std::string_view(whole).substr(at), header.salt, at)) --at;
  const Frame frame = *DecodeFrame(std::string_view(whole).substr(at), header.salt, at);
  const std::size_t record = frame.record.size(), body = frame.body.size();
  const auto read = [&](const std::string& with, std::size_t body_size) {
    std::string content = whole;
    content.replace(at + kFrameHeaderSize, with.size(), with);
    SealFrame(content.data() + at, static_cast<std::uint32_t>(record),
              static_cast<std::uint32_t>(body_size), header.salt, at);
    disk_.SetContent(path, content);
    return Read(2);
  };
  const std::string bytes(frame.record);
  ASSERT_EQ(bytes.substr(0, 4), "\x08\x01\x10\x02") << "the kind, and the id";
  EXPECT_EQ(read(bytes, body), Result::kWhole);
  EXPECT_EQ(read("\x08\x01\x10\x03" + bytes.substr(4), body), Result::kDamaged);
  EXPECT_EQ(read("\x08\x02\x10\x02" + bytes.substr(4), body), Result::kDamaged);
  EXPECT_EQ(read("\x08\x7F\x10\x02" + bytes.substr(4), body), Result::kDamaged);
  EXPECT_EQ(read(bytes, body - 1), Result::kDamaged);
  EXPECT_EQ(Read(1), Result::kWhole);
  EXPECT_EQ(Read(3), Result::kWhole);
}

TEST_F(WalBodies, ASegmentWithoutItsHeaderIsNotReadAndNamed) {
  const std::uint64_t id = Put();
  Flush();
  const std::string path = "/data/0000000001.wal";
  const std::string whole = disk_.Content(path);
  std::string damaged = whole, other = whole;
  damaged[3] ^= 1;
  EncodeSegmentHeader({kWalVersion, 7, 1}, other.data());
  for (const std::string& content : {damaged, other}) {
    disk_.SetContent(path, content);
    EXPECT_EQ(Read(id), Result::kFailed);
    EXPECT_EQ(state_->problem, path + ": the header is damaged");
  }
  disk_.SetContent(path, whole);
  disk_.FailReadsAt(path, 0, 1, -EIO);
  EXPECT_EQ(Read(id), Result::kFailed);
  EXPECT_EQ(state_->problem, path + ": it cannot be read");
  disk_.FailReadsAt(path, 0, 0, 0);
  EXPECT_EQ(Read(id), Result::kWhole);
}

TEST_F(WalBodies, WhatCannotBeReadIsDamagedIfTheSegmentBeforeCan) {
  std::uint64_t id = 0;
  while (journal_->Segments().current < 2) {
    id = Put();
    Flush();
  }
  ASSERT_EQ(Read(id), Result::kWhole);
  disk_.FailReadsAt("/data/" + SegmentName(2), 0, UINT64_MAX, -EIO);
  EXPECT_EQ(Read(id), Result::kDamaged);
}

// The disk fails at the frame, and the system at its neighbours.
TEST_F(WalBodies, NeighboursThatTheSystemCannotReadProveNothing) {
  for (int i = 0; i < 3; ++i) Put();
  Flush();
  ASSERT_EQ(Read(2), Result::kWhole);
  const std::string path = "/data/0000000001.wal";
  const std::size_t at = disk_.Content(path).find(BodyOf(2));
  disk_.FailReadsAt(path, at, at + 1, -EIO);
  disk_.FailAt(disk_.calls() + 3, EAGAIN, 10);
  EXPECT_EQ(Read(2), Result::kFailed);
  disk_.FailAt(0, 0);
  EXPECT_EQ(Read(2), Result::kDamaged);
}

TEST_F(WalBodies, ADeadDiskThatNobodyTriesIsReadAgainInTheBackground) {
  LoseTheDisk();
  journal_->Verify(1);
  journal_->Tick(kSecond);
  Flush();
  EXPECT_EQ(journal_->Verified().bytes, 0U);
  disk_.FailReads(0, 0);
  disk_.Advance(10 * kSecond);
  journal_->Tick(11 * kSecond);
  Flush();
  EXPECT_GT(journal_->Verified().bytes, 0U);
  EXPECT_EQ(journal_->Verified().left_bytes, 0U);
}

}  // namespace
}  // namespace gearstalk
