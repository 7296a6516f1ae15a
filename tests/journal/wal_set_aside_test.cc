// What is left of damaged bodies stays in files of its own.

#include <gtest/gtest.h>

#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include "broker/journal/wal/set_aside.h"
#include "tests/journal/cold_journal.h"

namespace gearstalk {
namespace {

using Result = BodyRead::Result;

class WalSetAside : public ColdJournal {
 protected:
  static std::string PathOf(std::uint64_t number) { return "/data/" + SegmentName(number); }

  // Twenty cold jobs; the record of the first is damaged.
  void PutDamaged() {
    for (int i = 0; i < 20; ++i) state_->cold.insert(Put());
    Flush();
    Flip(PathOf(1), "1bbb");
  }
  // The compaction wants the first body as soon as the disk can be read.
  void WaitForTheDisk() {
    disk_.FailReads(-EIO, UINT64_MAX);
    Churn();
    disk_.FailReads(0, 0);
    disk_.Advance(kSecond);
    state_->results.clear();
  }
  // The first job is set aside, and its segment is gone.
  void SetAside() {
    PutDamaged();
    Churn();
    ASSERT_GT(journal_->Segments().oldest, 1U);
    ASSERT_TRUE(Exists(kAside));
  }
  const std::string kAside = "/data/1.damaged";
};

// Its bytes stay in a file of their own: repaired there, they are the body again.
TEST_F(WalSetAside, ADamagedFrameIsSetAsideAndItsSegmentGoes) {
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

TEST_F(WalSetAside, WhatWasSetAsideStaysWhereAStartCannotReadIt) {
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

TEST_F(WalSetAside, OfAFrameThatCannotBeReadTheOtherSectorsAreSetAside) {
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

TEST_F(WalSetAside, OfAJobThatWasDeletedMeanwhileNothingIsLeft) {
  PutDamaged();
  WaitForTheDisk();
  journal_->Flush(0);
  ASSERT_TRUE(Exists(kAside));
  while (!state_->model.state().jobs.empty()) {
    state_->model.Delete(*journal_, state_->model.state().jobs.begin()->first);
  }
  journal_->Flush(0);
  journal_->OnNotify();
  EXPECT_FALSE(Exists(kAside));
  EXPECT_TRUE(state_->results.empty());
  for (int i = 0; i < 3; ++i) Flush();
  ExpectStoredBytes();
}

// A reserved job cannot be buried: it is told of again until it can.
TEST_F(WalSetAside, AJobThatIsReservedIsBuriedWhenItComesBack) {
  state_->rests = false;
  PutDamaged();
  Churn();
  ASSERT_TRUE(Exists(kAside));
  journal_->Tick(kSecond);
  const std::size_t told = state_->results[1].size();
  EXPECT_EQ(journal_->Tick(2 * kSecond), 2 * kSecond + kReadAgain);
  EXPECT_EQ(state_->results[1].size(), told + 1);
  EXPECT_EQ(state_->results[1].back(), Result::kDamaged);
  EXPECT_EQ(state_->problem, "/data/0000000001.wal at offset 148: the record of job 1 is damaged");
  EXPECT_EQ(journal_->Segments().oldest, 1U);
  state_->rests = true;
  EXPECT_GT(journal_->Tick(3 * kSecond), 3600 * kSecond);
  EXPECT_EQ(state_->results[1].size(), told + 1);
  Churn();
  EXPECT_GT(journal_->Segments().oldest, 1U);
}

TEST_F(WalSetAside, AReservedJobThatIsDeletedIsNotTalkedOfAgain) {
  state_->rests = false;
  PutDamaged();
  Churn();
  ASSERT_TRUE(Exists(kAside));
  state_->model.Delete(*journal_, 1);
  Churn();
  EXPECT_FALSE(Exists(kAside));
  state_->results.clear();
  journal_->Tick(kSecond);
  journal_->Tick(2 * kSecond);
  EXPECT_TRUE(state_->results.empty());
}

// Whichever call fails: the segment stays until the file is whole.
TEST_F(WalSetAside, AFrameThatCannotBeSetAsideKeepsItsSegment) {
  for (int i = 0; i < 20; ++i) Put();
  ASSERT_TRUE(journal_->Close().ok());
  journal_.reset();
  const auto image = disk_.Image();
  bool reached = true;
  int kept = 0;
  for (std::uint64_t call = 1; reached; ++call) {
    SCOPED_TRACE(call);
    journal_.reset();
    disk_.SetImage(image);
    Start();
    for (std::uint64_t id = 1; id <= 20; ++id) state_->cold.insert(id);
    Flip(PathOf(1), "1bbb");
    WaitForTheDisk();
    const std::uint64_t at = disk_.calls() + call;
    disk_.FailAt(at, EIO);
    Flush();
    reached = disk_.calls() >= at;
    disk_.FailAt(0, 0);
    if (!Exists(kAside)) {
      ++kept;
      EXPECT_EQ(journal_->Segments().oldest, 1U);
    }
    disk_.Advance(kSecond);
    Churn();
    EXPECT_GT(journal_->Segments().oldest, 1U);
    EXPECT_TRUE(Exists(kAside));
    EXPECT_EQ(Read(1), Result::kDamaged);
    Flip(kAside, "0bbb");
    EXPECT_EQ(Read(1), Result::kWhole);
  }
  EXPECT_GT(kept, 4);
}

// The disk fails for good while a frame with one bad sector is set aside: that says nothing of the
// other sectors.
TEST_F(WalSetAside, ADiskThatDiesMeanwhileDamagesNoMore) {
  const std::string body(2000, 'a');
  state_->model.Put(*journal_, "t", body);
  Flush();
  ASSERT_TRUE(journal_->Close().ok());
  journal_.reset();
  const auto image = disk_.Image();
  const std::size_t begin = image.at(PathOf(1)).find(body);
  const std::size_t bad = (begin + 1000) / 512 * 512;
  std::string left = body;
  left.replace(bad - begin, 512, 512, '\0');
  const std::string aside = "/data/1.damaged";
  bool reached = true;
  int spared = 0;
  for (std::uint64_t call = 1; reached; ++call) {
    SCOPED_TRACE(call);
    journal_.reset();
    disk_.SetImage(image);
    Start();
    state_->cold.insert(1);
    WaitForTheDisk();
    disk_.FailReadsAt(PathOf(1), bad, bad + 1, -EIO);
    const std::uint64_t at = disk_.calls() + call;
    disk_.FailAt(at, EIO, 1'000'000);
    Flush();
    reached = disk_.calls() >= at;
    disk_.FailAt(0, 0);
    disk_.FailReadsAt(PathOf(1), 0, 0, 0);
    disk_.Advance(kSecond);
    if (disk_.Content(aside).ends_with(left)) continue;
    ++spared;
    EXPECT_EQ(Read(1), Result::kWhole);
  }
  EXPECT_GT(spared, 10);
}

TEST_F(WalSetAside, AFileThatCannotBeReadNowIsNoDamage) {
  SetAside();
  ASSERT_EQ(Read(1), Result::kDamaged);
  disk_.FailOpens(0, EMFILE, 2);
  EXPECT_EQ(Read(1), Result::kFailed);
  EXPECT_NE(state_->problem.find(kAside), std::string::npos) << state_->problem;
  disk_.FailReadsAt(kAside, 0, 1, -EIO);
  EXPECT_EQ(Read(1), Result::kFailed);
  EXPECT_NE(state_->problem.find(kAside), std::string::npos) << state_->problem;
  disk_.FailReadsAt(kAside, 0, 0, 0);
  EXPECT_EQ(Read(1), Result::kDamaged);
}

TEST_F(WalSetAside, AFileThatIsNoneLeavesTheJobDamaged) {
  SetAside();
  const std::string whole = disk_.Content(kAside);
  for (const std::string& other : {std::string(), std::string("short"), 'x' + whole.substr(1)}) {
    disk_.SetContent(kAside, other);
    EXPECT_EQ(Read(1), Result::kDamaged);
    EXPECT_EQ(state_->problem, kAside + " is damaged");
  }
  disk_.Unlink(kAside);
  EXPECT_EQ(Read(1), Result::kDamaged);
  disk_.SetContent(kAside, whole);
  Flip(kAside, "0bbb");
  EXPECT_EQ(Read(1), Result::kWhole);
  EXPECT_EQ(state_->bodies[1], BodyOf(1));
}

TEST_F(WalSetAside, StaysUntilTheDeletionOfItsJobIsDurable) {
  SetAside();
  state_->model.Delete(*journal_, 1);
  journal_->OnNotify();
  EXPECT_TRUE(Exists(kAside));
  Flush();
  EXPECT_FALSE(Exists(kAside));
  ExpectStoredBytes();
}

// Its body is put again, whole, and then the job is deleted, all in one round.
TEST_F(WalSetAside, IsGoneOnceItsJobIsWholeAgain) {
  SetAside();
  state_->cold.erase(1);
  state_->model.Capture(1, [this](Record record) {
    const std::string body = BodyOf(1);
    record.body = body;
    journal_->Append(record);
  });
  state_->model.Delete(*journal_, 1);
  Flush();
  EXPECT_FALSE(Exists(kAside));
  ExpectStoredBytes();
  ASSERT_TRUE(journal_->Close().ok());
  Start();
  EXPECT_FALSE(state_->model.state().jobs.contains(1));
  EXPECT_EQ(state_->model.state().jobs.size(), 19U);
}

TEST_F(WalSetAside, ChangesOfItsJobAreReadBack) {
  SetAside();
  state_->model.Release(*journal_, 1, 7, 9 * kSecond);
  state_->model.Bury(*journal_, 1, 3);
  Flush();
  const Model::Job before = state_->model.state().jobs.at(1);
  ASSERT_TRUE(journal_->Close().ok());
  Start();
  const Model::Job& after = state_->model.state().jobs.at(1);
  EXPECT_EQ(after.state, Record::State::kBuried);
  EXPECT_EQ(after.burial, before.burial);
  EXPECT_EQ(after.counters, before.counters);
  EXPECT_EQ(Read(1), Result::kDamaged);
}

TEST_F(WalSetAside, OnlyFilesOfJobsAreRemovedByAStart) {
  SetAside();
  ASSERT_TRUE(journal_->Close().ok());
  disk_.SetContent("/data/99.damaged", "of a job that is gone");
  for (const char* other : {"/data/notes.damaged", "/data/1x.damaged", "/data/.damaged"}) {
    disk_.SetContent(other, "of somebody else");
  }
  Start();
  EXPECT_TRUE(Exists(kAside));
  EXPECT_FALSE(Exists("/data/99.damaged"));
  for (const char* other : {"/data/notes.damaged", "/data/1x.damaged", "/data/.damaged"}) {
    EXPECT_TRUE(Exists(other)) << other;
  }
}

// Any call of the next start fails once: the file stays as long as its job has no other body.
TEST_F(WalSetAside, AStartThatFailsLeavesIt) {
  SetAside();
  ASSERT_TRUE(journal_->Close().ok());
  journal_.reset();
  const auto image = disk_.Image();
  const std::string content = disk_.Content(kAside);
  bool reached = true;
  for (std::uint64_t call = 1; reached; ++call) {
    SCOPED_TRACE(call);
    journal_.reset();
    disk_.SetImage(image);
    const std::uint64_t at = disk_.calls() + call;
    disk_.FailAt(at, EIO);
    auto opened = WalJournal::Open(options_);
    Cold state;
    if (opened.ok() && opened.value()->Start(state, events_).ok()) {
      EXPECT_TRUE(state.model.state().jobs.contains(1));
    }
    reached = disk_.calls() >= at;
    disk_.FailAt(0, 0);
    EXPECT_EQ(disk_.Content(kAside), content);
  }
}

}  // namespace
}  // namespace gearstalk
