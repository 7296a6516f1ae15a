// Indexes of sealed segments: a start from them is a start from the segments, and nothing else is
// believed.

#include <gtest/gtest.h>
#include <poll.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "broker/base/stored_number.h"
#include "broker/journal/byte_buffer.h"
#include "broker/journal/journal.h"
#include "broker/journal/record.h"
#include "broker/journal/record_codec.h"
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
    if (record.id == refused) return {Code::kCorrupt, "a job that cannot be"};
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
  std::vector<std::uint64_t> MissingBodies() const override { return missing; }
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
  std::uint64_t refused = 0;
  std::vector<std::uint64_t> missing;
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
    state_->missing = missing_;
    state_->refused = refused_;
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
    const Status status = recovery.Run([&](const Record& record, std::size_t size) {
      const std::uint64_t body = record.body.size() + record.body_left_out;
      seen.push_back(std::to_string(static_cast<int>(record.kind)) + " " +
                     std::to_string(record.id) + " " + std::to_string(body) + " " +
                     std::to_string(size) + " at " + std::to_string(recovery.offset()));
      return Status();
    });
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
  std::vector<std::uint64_t> missing_;  // that the next start needs
  std::uint64_t refused_ = 0;           // by the next start
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

TEST_F(WalIndex, BodiesThatAStartNeedsAreReadBeforeItEnds) {
  PutMany(40);
  missing_ = {3, 17};
  ASSERT_TRUE(Start().ok());
  ASSERT_EQ(state_->results.size(), 2U);
  for (const std::uint64_t id : missing_) {
    EXPECT_EQ(state_->results[id], Result::kWhole);
    EXPECT_EQ(state_->bodies[id], BodyOf(id));
  }
  const Status damaged = StartAfter([](auto& files) {
    std::string& segment = files.at(PathOf(SegmentName(1)));
    segment[segment.find(BodyOf(3))] ^= 1;
  });
  EXPECT_EQ(damaged.code(), Code::kCorrupt);
  EXPECT_NE(damaged.message().find(SegmentName(1)), std::string::npos) << damaged.message();
  EXPECT_NE(damaged.message().find("the record of job 3 is damaged"), std::string::npos)
      << damaged.message();
}

// Whichever calls of a start fail, it reads the same or is refused, and no damage is seen.
TEST_F(WalIndex, AStartThatCannotReadSeesNoDamage) {
  PutMany(40);
  const auto jobs = state_->jobs;
  ASSERT_TRUE(journal_->Close().ok());
  journal_.reset();
  const auto files = disk_.Image();
  missing_ = {3, 17};
  for (const int error : {EIO, EMFILE}) {
    bool reached = true;
    for (std::uint64_t call = 1; reached; ++call) {
      SCOPED_TRACE(call);
      journal_.reset();
      disk_.SetImage(files);
      const std::uint64_t at = disk_.calls() + call;
      disk_.FailAt(at, error, 2);
      const Status started = Start();
      reached = disk_.calls() >= at;
      disk_.FailAt(0, 0);
      if (!started.ok()) {
        ASSERT_EQ(started.code(), Code::kIo) << started.message();
        ASSERT_NE(started.message().find("/data"), std::string::npos) << started.message();
        ASSERT_TRUE(Start().ok());
      }
      ASSERT_EQ(state_->jobs, jobs);
      ASSERT_EQ(state_->bodies[17], BodyOf(17));
    }
  }
}

TEST_F(WalIndex, ARecordThatTheStateRefusesIsNamed) {
  PutMany(40);
  ASSERT_FALSE(Indexes().empty());
  ASSERT_TRUE(journal_->Close().ok());
  refused_ = 2;
  const Status started = Start();
  EXPECT_EQ(started.code(), Code::kCorrupt);
  EXPECT_EQ(started.message().find(PathOf(SegmentName(1)) + " at offset "), 0U);
  EXPECT_NE(started.message().find(": a job that cannot be"), std::string::npos);
}

TEST_F(WalIndex, OneThatIsLongerThanItsSegmentIsNotRead) {
  PutMany(40);
  const auto jobs = state_->jobs;
  const Status status = StartAfter([](auto& files) {
    std::string& index = files.at(PathOf(IndexName(2)));
    index.resize(files.at(PathOf(SegmentName(2))).size() + 1);
  });
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(state_->jobs, jobs);
  for (const auto& [id, size] : jobs) EXPECT_EQ(Read(id), Result::kWhole);
}

TEST_F(WalIndex, WhatWasSetAsideOfAJobWhoseBodyIsThereIsRemoved) {
  PutMany(40);
  const Status status =
      StartAfter([](auto& files) { files[PathOf("3.damaged")] = "of a start that did not end"; });
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_FALSE(disk_.Image().contains(PathOf("3.damaged")));
  EXPECT_EQ(Read(3), Result::kWhole);
}

TEST_F(WalIndex, ASegmentThatLeavesBeforeItsTurnGetsNone) {
  while (journal_->Segments().current < 2) {
    Put(BodyOf(state_->next_id));
    Flush();
  }
  ASSERT_TRUE(Indexes().empty());
  const auto jobs = state_->jobs;
  for (const auto& [id, size] : jobs) {
    state_->jobs.erase(id);
    Record record;
    record.kind = Record::Kind::kDelete;
    record.id = id;
    journal_->Append(record);
  }
  for (int i = 0; i < 4; ++i) Flush();
  EXPECT_GT(journal_->Segments().oldest, 1U);
  EXPECT_TRUE(Indexes().empty());
}

TEST_F(WalIndex, ASegmentThatCannotBeReadGetsNone) {
  while (journal_->Segments().current < 2) {
    Put(BodyOf(state_->next_id));
    Flush();
  }
  std::string segment = disk_.Content(PathOf(SegmentName(1)));
  segment[3] ^= 1;
  disk_.SetContent(PathOf(SegmentName(1)), segment);
  for (int i = 0; i < 4; ++i) Flush();
  EXPECT_TRUE(Indexes().empty());
  EXPECT_TRUE(journal_->Health().ok());
}

TEST_F(WalIndex, MayHaveSeveralBlocks) {
  options_.segment_size = 1 << 20;
  ASSERT_TRUE(Start().ok());
  while (journal_->Segments().current < 4) Put(std::string(140, 'b'));
  for (int i = 0; i < 6; ++i) Flush();
  ASSERT_FALSE(Indexes().empty());
  EXPECT_GT(disk_.Content(PathOf(IndexName(Indexes().back()))).size(), 64U * 1024);
  const auto jobs = state_->jobs;
  ASSERT_TRUE(journal_->Close().ok());
  EXPECT_EQ(Seen(true), Seen(false));
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(state_->jobs, jobs);
}

TEST_F(WalIndex, AThreadWritesThemAndTheyLeaveThere) {
  options_.own_thread = true;
  ASSERT_TRUE(Start().ok());
  const auto go_on = [this] {
    pollfd readable{journal_->NotifyFd(), POLLIN, 0};
    ::poll(&readable, 1, 10);
    Flush();
  };
  while (journal_->Segments().current < 4) {
    Put(BodyOf(state_->next_id));
    Flush();
  }
  for (int i = 0; i < 6000 && Indexes().size() < 2; ++i) go_on();
  EXPECT_GE(Indexes().size(), 2U);
  for (std::uint64_t id = 1; id < state_->next_id; ++id) Delete(id);
  for (int i = 0; i < 6000 && !Indexes().empty(); ++i) go_on();
  EXPECT_TRUE(Indexes().empty());
  EXPECT_TRUE(journal_->Close().ok());
}

TEST(WalIndexName, IsThatOfItsSegment) {
  EXPECT_EQ(IndexName(7), "0000000007.index");
  EXPECT_EQ(IndexNumber("0000000007.index"), 7U);
  for (const char* other : {"0000000007.wal", "7.index", "000000000x.index", "0000000007.index.tmp",
                            "0000000007", ".index", ""}) {
    EXPECT_EQ(IndexNumber(other), 0U) << other;
  }
}

// A segment that is made by hand.
class SomeSegment {
 public:
  SomeSegment() : bytes_(kSegmentHeaderSize, '\0') { EncodeSegmentHeader(header_, bytes_.data()); }
  SomeSegment& Mark(Lsn next) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + kMarkSize);
    EncodeMark({next, 0, 7}, header_.number, header_.salt, at, bytes_.data() + at);
    return *this;
  }
  SomeSegment& Frame(const std::string& record, const std::string& body) {
    const std::size_t at = bytes_.size();
    bytes_.append(kFrameHeaderSize, '\0').append(record).append(body);
    SealFrame(bytes_.data() + at, static_cast<std::uint32_t>(record.size()),
              static_cast<std::uint32_t>(body.size()), header_.salt, at);
    return *this;
  }
  std::string Index() const { return MakeIndex(bytes_ + std::string(100, '\0'), header_); }
  const std::string& bytes() const { return bytes_; }
  const SegmentHeader& header() const { return header_; }

 private:
  const SegmentHeader header_{kWalVersion, 7, 42};
  std::string bytes_;
};

TEST(WalIndexOf, ASegmentWithoutRecordsIsEmpty) {
  const SomeSegment segment = std::move(SomeSegment().Mark(5));
  const std::string index = segment.Index();
  auto reader = IndexReader::Open(index, segment.header(), segment.bytes().size());
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(reader->first(), 5U);
  EXPECT_EQ(reader->end(), segment.bytes().size());
  IndexReader::Entry entry;
  EXPECT_FALSE(reader->Next(entry));
}

// A start would refuse it, so nothing may hide it.
TEST(WalIndexOf, ASegmentThatIsNoPartOfALogIsNotMade) {
  ByteBuffer record;
  RecordCodec().Encode(Lean::PutOf(2, 0, {}), record);
  const std::string put(record.view()), body(4000, 'b');
  EXPECT_NE(SomeSegment().Mark(5).Frame(put, body).Mark(6).Index(), "");
  EXPECT_EQ(SomeSegment().Mark(5).Frame(put, body).Mark(7).Index(), "") << "a record is missing";
  EXPECT_EQ(SomeSegment().Frame(put, body).Index(), "") << "it has no first mark";
  EXPECT_EQ(SomeSegment().Mark(5).Frame("\x08\x7F", body).Index(), "") << "no such record";
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

  // Of the first entry; the index has one block.
  static constexpr std::size_t kEntry = 64 + 12;
  void Seal(std::string& index) const {
    const std::size_t size =
        std::min<std::size_t>(Load<std::uint32_t>(index, 72), index.size() - kEntry);
    Store<std::uint64_t>(index.data() + 64,
                         XXH3_64bits_withSeed(index.data() + 72, 4 + size, header_.salt + 64));
    Store<std::uint64_t>(index.data() + 56, XXH3_64bits_withSeed(index.data(), 56, header_.salt));
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

TEST_F(OneIndex, WhoseChecksumsAreRightAndWhoseNumbersAreNotIsNotBelieved) {
  const auto believed = [this](const std::function<void(std::string & index)>& change) {
    std::string index = index_;
    change(index);
    Seal(index);
    return Believed(index);
  };
  EXPECT_TRUE(believed([](std::string&) {}));
  const auto at = [](std::size_t offset, auto add) {
    return [=](std::string& index) {
      const auto value = Load<decltype(add)>(index, offset);
      Store(index.data() + offset, static_cast<decltype(add)>(value + add));
    };
  };
  EXPECT_TRUE(believed(at(8, std::uint32_t(-1)))) << "the version before";
  EXPECT_FALSE(believed(at(8, std::uint32_t{1}))) << "a newer version";
  EXPECT_FALSE(believed(at(8, std::uint32_t(-2)))) << "no version";
  EXPECT_FALSE(believed(at(12, std::uint32_t{1 << 20}))) << "an end behind the segment's";
  EXPECT_FALSE(believed(at(16, std::uint64_t{1}))) << "of another segment";
  EXPECT_FALSE(believed(at(24, std::uint64_t{1}))) << "of another use of the file";
  EXPECT_FALSE(believed(at(40, std::uint64_t{1}))) << "more records than entries";
  EXPECT_FALSE(believed(at(48, std::uint64_t{1}))) << "longer than the file";
  EXPECT_FALSE(believed(at(kEntry, std::uint32_t{1 << 20}))) << "a record behind the end";
  EXPECT_FALSE(believed(at(kEntry + 4, std::uint32_t{1 << 20}))) << "longer than its block";
  EXPECT_FALSE(believed(at(kEntry + 8, std::uint32_t{1U << 31U}))) << "a hash of what is there";
  EXPECT_FALSE(believed([](std::string& index) {
    index += "12345";
    Store(index.data() + 48, std::uint64_t{index.size()});
  })) << "a block without a header";
  EXPECT_FALSE(believed([](std::string& index) {
    index += "1234";
    Store(index.data() + 48, std::uint64_t{index.size()});
    Store(index.data() + 72, static_cast<std::uint32_t>(index.size() - kEntry));
  })) << "an entry without a header";
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
