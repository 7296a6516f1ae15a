// Indexes of sealed segments: a start from them is a start from the segments, and nothing else is
// believed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "broker/journal/body_hash.h"
#include "broker/journal/no_events.h"
#include "broker/journal/wal/segment_index.h"
#include "broker/journal/wal/wal_journal.h"
#include "broker/journal/wal/wal_reader.h"
#include "tests/journal/faulty_file_system.h"

namespace gearstalk {
namespace {

using Result = BodyRead::Result;

// Jobs of which it knows the lengths of the bodies alone.
class Lean final : public LiveState {
 public:
  Status Apply(const Record& record) override {
    next_id = std::max(next_id, NextIdAfter(record));
    if (record.kind == Record::Kind::kDelete) jobs.erase(record.id);
    if (record.kind != Record::Kind::kPut) return {};
    left_out += record.body_left_out > 0 ? 1 : 0;
    if (!record.put_key.empty()) hashes[record.id] = record.put_key;
    jobs[record.id] = record.body_left_out > 0 ? record.body_left_out : record.body.size();
    return {};
  }
  bool Capture(std::uint64_t id, const std::function<void(const Record&)>& emit) override {
    const auto job = jobs.find(id);
    if (job == jobs.end()) return false;
    emit(PutOf(id, job->second, {}));
    return true;
  }
  void CaptureSettings(const std::function<void(const Record&)>& emit) override {
    Record record;
    record.kind = Record::Kind::kNextId;
    record.id = next_id;
    emit(record);
  }
  std::uint32_t BodyLeftOut(std::uint64_t id) const override {
    return jobs.contains(id) ? static_cast<std::uint32_t>(jobs.at(id)) : 0;
  }
  bool TakesBodiesLater() const override { return takes_later; }
  void OnBody(std::uint64_t id, const BodyRead& read) override {
    results[id] = read.result;
    bodies[id] = read.body;
  }

  static Record PutOf(std::uint64_t id, std::uint64_t size, std::string_view body) {
    Record record;
    record.id = id;
    record.tube = "t";
    record.body = body;
    record.body_left_out = body.empty() ? static_cast<std::uint32_t>(size) : 0;
    return record;
  }

  std::map<std::uint64_t, std::uint64_t> jobs;
  std::uint64_t next_id = 1;
  int left_out = 0;
  bool takes_later = true;
  std::map<std::uint64_t, std::string> hashes;
  std::map<std::uint64_t, Result> results;
  std::map<std::uint64_t, std::string> bodies;
};

class WalIndex : public testing::Test {
 protected:
  static constexpr std::uint64_t kSegment = 4096;

  WalIndex() {
    options_.directory = "/data";
    options_.file_system = &disk_;
    options_.own_thread = false;
    options_.segment_size = kSegment;
    options_.indexes = true;
    EXPECT_TRUE(Start().ok());
  }

  Status Start(bool takes_later = true) {
    journal_.reset();
    auto opened = WalJournal::Open(options_);
    if (!opened.ok()) return opened.status();
    journal_ = std::move(opened.value());
    state_ = std::make_unique<Lean>();
    state_->takes_later = takes_later;
    if (Status status = journal_->Start(*state_, events_); !status.ok()) return status;
    journal_->OnNotify();
    return {};
  }

  void Flush() {
    journal_->Flush(0);
    journal_->OnNotify();
  }
  static std::string BodyOf(std::uint64_t id) {
    return std::to_string(id) + std::string(300 + id * 37 % 300, 'b');
  }
  void Put(const std::string& body) {
    const std::uint64_t id = state_->next_id++;
    state_->jobs[id] = body.size();
    journal_->Append(Lean::PutOf(id, body.size(), body));
  }
  void PutMany(int count) {
    for (int i = 0; i < count; ++i) {
      Put(BodyOf(state_->next_id));
      Flush();
    }
    for (int i = 0; i < 4; ++i) Flush();
  }
  void Delete(std::uint64_t id) {
    state_->jobs.erase(id);
    Record record;
    record.kind = Record::Kind::kDelete;
    record.id = id;
    journal_->Append(record);
    Flush();
  }

  static std::string PathOf(const std::string& name) { return "/data/" + name; }
  std::vector<std::uint64_t> Indexes() const {
    std::vector<std::uint64_t> numbers;
    for (const auto& [path, content] : disk_.Image()) {
      const std::uint64_t number = IndexNumber(path.substr(6));
      if (number != 0) numbers.push_back(number);
    }
    return numbers;
  }
  // Starts again on files that were changed meanwhile.
  Status StartAfter(const std::function<void(std::map<std::string, std::string>& files)>& change) {
    EXPECT_TRUE(journal_->Close().ok());
    journal_.reset();
    auto files = disk_.Image();
    change(files);
    disk_.SetImage(files);
    return Start();
  }
  // What a reader of the log sees: where each record is, and the lengths of bodies.
  std::vector<std::string> Seen(bool use_indexes) {
    std::vector<std::string> seen;
    WalRecovery recovery(disk_, "/data");
    if (use_indexes) recovery.UseIndexes();
    const Status status = recovery.Run(
        [](const WalRecovery::Segment&) {},
        [&](const Record& record, std::size_t size) {
          const std::uint64_t body = record.body.size() + record.body_left_out;
          seen.push_back(std::to_string(static_cast<int>(record.kind)) + " " +
                         std::to_string(record.id) + " " + std::to_string(body) + " " +
                         std::to_string(size) + " at " + std::to_string(recovery.offset()));
          return Status();
        },
        nullptr);
    seen.push_back(std::to_string(recovery.last()) + status.message());
    return seen;
  }
  Result Read(std::uint64_t id) {
    journal_->Fetch(id, BodyUse::kReply);
    for (int i = 0; i < 3 && !state_->results.contains(id); ++i) Flush();
    return state_->results[id];
  }

  FaultyFileSystem disk_;
  WalOptions options_;
  NoEvents events_;
  std::unique_ptr<Lean> state_;
  std::unique_ptr<WalJournal> journal_;
};

TEST_F(WalIndex, AStartFromThemIsAStartFromTheSegments) {
  PutMany(60);
  for (const std::uint64_t id : {40, 3, 17, 60}) Delete(id);
  EXPECT_GE(Indexes().size(), 5U);
  const auto jobs = state_->jobs;
  ASSERT_TRUE(journal_->Close().ok());
  EXPECT_EQ(Seen(true), Seen(false));
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(state_->jobs, jobs);
  EXPECT_GT(state_->left_out, 40);
  for (const auto& [id, size] : jobs) {
    EXPECT_EQ(Read(id), Result::kWhole) << id;
    EXPECT_EQ(state_->bodies[id], BodyOf(id));
  }
}

TEST_F(WalIndex, AStartDoesNotReadTheBodies) {
  PutMany(40);
  const Status status = StartAfter([](auto& files) {
    std::string& segment = files.at(PathOf(SegmentName(2)));
    segment[segment.find("bbb")] ^= 1;
  });
  EXPECT_TRUE(status.ok()) << status.message();
  int damaged = 0;
  for (std::uint64_t id = 1; id <= 40; ++id) damaged += Read(id) == Result::kDamaged ? 1 : 0;
  EXPECT_EQ(damaged, 1);
}

TEST_F(WalIndex, AStopDoesNotWaitForThem) {
  for (int i = 0; i < 30; ++i) Put(BodyOf(state_->next_id));
  journal_->Flush(0);
  EXPECT_TRUE(journal_->Close().ok());
  EXPECT_EQ(Seen(true), Seen(false));
}

TEST_F(WalIndex, WhoNeedsAllBodiesReadsTheSegments) {
  PutMany(40);
  ASSERT_TRUE(journal_->Close().ok());
  ASSERT_TRUE(Start(false).ok());
  EXPECT_EQ(state_->left_out, 0);
  EXPECT_EQ(state_->jobs.size(), 40U);
}

TEST_F(WalIndex, OneThatIsMissingIsWrittenAnew) {
  PutMany(40);
  const auto before = Indexes();
  ASSERT_GE(before.size(), 3U);
  const Status status = StartAfter([](auto& files) {
    files.erase(PathOf(IndexName(2)));
    files.at(PathOf(IndexName(3)))[70] ^= 1;
    files[PathOf(IndexName(77))] = "of no segment";
  });
  ASSERT_TRUE(status.ok()) << status.message();
  Flush();
  const auto after = Indexes();
  EXPECT_TRUE(std::includes(after.begin(), after.end(), before.begin(), before.end()));
  EXPECT_FALSE(disk_.Image().contains(PathOf(IndexName(77))));
  const std::string segment = disk_.Content(PathOf(SegmentName(3)));
  SegmentHeader header;
  ASSERT_TRUE(DecodeSegmentHeader(segment, header).ok());
  EXPECT_TRUE(
      IndexReader::Open(disk_.Content(PathOf(IndexName(3))), header, segment.size()).has_value());
}

TEST_F(WalIndex, TheyLeaveWithTheirSegments) {
  PutMany(40);
  ASSERT_FALSE(Indexes().empty());
  EXPECT_EQ(Indexes().front(), 1U);
  for (std::uint64_t id = 1; id <= 30; ++id) Delete(id);
  for (int i = 0; i < 20; ++i) Flush();
  EXPECT_GT(journal_->Segments().oldest, 1U);
  EXPECT_GE(Indexes().front(), journal_->Segments().oldest);
}

TEST_F(WalIndex, OneThatCannotBeWrittenIsNotThere) {
  PutMany(9);
  for (int i = 0; i < 30; ++i) {
    disk_.FailOpens(0, -EMFILE, 1);
    Put(BodyOf(state_->next_id));
    Flush();
  }
  disk_.FailOpens(0, 0, 0);
  for (int i = 0; i < 4; ++i) Flush();
  journal_.reset();
  EXPECT_EQ(Seen(true), Seen(false));
}

TEST_F(WalIndex, SmallBodiesAreNotWorthOne) {
  for (int i = 0; i < 200; ++i) Put(std::string(100, 's'));
  for (int i = 0; i < 6; ++i) Flush();
  ASSERT_GT(journal_->Segments().count, 3U);
  EXPECT_TRUE(Indexes().empty());
}

TEST_F(WalIndex, WhatAStartNeedsIsInIt) {
  const std::string of_key(200, 'k'), of_held(200, 'h');
  Record key = Lean::PutOf(state_->next_id++, 0, of_key);
  key.unique_is_body = true;
  const std::uint64_t id = key.id;
  Record held = Lean::PutOf(state_->next_id++, 0, of_held);
  held.transfer.name = "x";
  held.transfer.held = Record::Held::kFirstPhase;
  for (const Record& record : {key, held}) {
    state_->jobs[record.id] = record.body.size();
    journal_->Append(record);
  }
  PutMany(20);
  ASSERT_EQ(Indexes().front(), 1U);
  const std::string index = disk_.Content(PathOf(IndexName(1)));
  EXPECT_EQ(index.find(of_key), std::string::npos);
  EXPECT_NE(index.find(View(HashOfBody(of_key))), std::string::npos);
  EXPECT_NE(index.find(of_held), std::string::npos);
  EXPECT_EQ(index.find("bbb"), std::string::npos);
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(state_->hashes[id], View(HashOfBody(of_key)));
  EXPECT_EQ(state_->jobs.at(id), 200U);
}

// Of one segment.
class OneIndex : public WalIndex {
 protected:
  OneIndex() {
    const std::string body(300, 'k');
    Record key = Lean::PutOf(state_->next_id++, 0, body);
    key.unique_is_body = true;
    state_->jobs[key.id] = body.size();
    journal_->Append(key);
    PutMany(20);
    segment_ = disk_.Content(PathOf(SegmentName(1)));
    index_ = disk_.Content(PathOf(IndexName(1)));
    EXPECT_TRUE(DecodeSegmentHeader(segment_, header_).ok());
    EXPECT_TRUE(Believed(index_));
  }

  bool Believed(std::string_view index) const {
    return IndexReader::Open(index, header_, segment_.size()).has_value();
  }

  std::string segment_, index_;
  SegmentHeader header_;
};

TEST_F(OneIndex, CutAtAnyByteItIsNotBelieved) {
  for (std::size_t size = 0; size < index_.size(); ++size) {
    EXPECT_FALSE(Believed(std::string_view(index_).substr(0, size))) << size;
  }
  EXPECT_FALSE(Believed(index_ + '\0'));
}

TEST_F(OneIndex, FlippedInAnyByteItIsNotBelieved) {
  for (char& byte : index_) {
    for (const int flip : {1, 0x80, 0xFF}) {
      byte = static_cast<char>(byte ^ flip);
      EXPECT_FALSE(Believed(index_));
      byte = static_cast<char>(byte ^ flip);
    }
  }
  EXPECT_TRUE(Believed(index_));
}

TEST_F(OneIndex, OfAnotherUseOfTheFileItIsNotBelieved) {
  header_.salt ^= 1;
  EXPECT_FALSE(Believed(index_));
  header_.salt ^= 1;
  ++header_.number;
  EXPECT_FALSE(Believed(index_));
}

TEST_F(OneIndex, OfASegmentThatLostItsEndItIsNotBelieved) {
  const auto end = IndexReader::Open(index_, header_, segment_.size())->end();
  EXPECT_TRUE(IndexReader::Open(index_, header_, end).has_value());
  EXPECT_FALSE(IndexReader::Open(index_, header_, end - 1).has_value());
  const Status status =
      StartAfter([&](auto& files) { files.at(PathOf(SegmentName(1))).resize(end - 1); });
  EXPECT_EQ(status.code(), Code::kCorrupt);
}

TEST_F(OneIndex, ADamagedSegmentHasNone) {
  EXPECT_EQ(MakeIndex(segment_, header_), index_);
  for (std::size_t at = kSegmentHeaderSize; at < segment_.size(); at += 7) {
    if (segment_[at] == 0) continue;
    std::string damaged = segment_;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const std::string index = MakeIndex(damaged, header_);
    EXPECT_TRUE(index.empty() || index == index_) << at;
  }
}

// The power goes at any call: what is there then is believed only if it is whole.
TEST_F(WalIndex, APowerCutLeavesNoneThatLies) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const auto jobs = state_->jobs;
    disk_.StopAt(disk_.calls() + 1 + seed % 60, seed % 500);
    PutMany(12);
    journal_.reset();
    disk_.Restart(seed % 2 == 0 ? FaultyFileSystem::Loss::kSome : FaultyFileSystem::Loss::kAll,
                  seed);
    ASSERT_EQ(Seen(true), Seen(false)) << seed;
    ASSERT_TRUE(Start().ok()) << seed;
    for (const auto& [id, size] : jobs) ASSERT_EQ(state_->jobs[id], size) << seed;
    if (seed % 20 == 19) {
      for (std::uint64_t id = 1; id + 20 < state_->next_id; ++id) {
        if (state_->jobs.contains(id)) Delete(id);
      }
    }
  }
}

}  // namespace
}  // namespace gearstalk
