// What a check, a salvage and a start say of logs with several kinds of damage, and of logs that
// only look damaged.

#include "broker/journal/wal/wal_check.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/stored_number.h"
#include "broker/journal/wal/wal_format.h"
#include "broker/journal/wal/wal_reader.h"
#include "tests/journal/damage_case.h"

namespace gearstalk {
namespace {

using Item = SegmentReader::Item;
using Image = std::map<std::string, std::string>;

class WalCheck : public DamageCase {
 protected:
  void SetUp() override { ASSERT_TRUE(rig_.Start().ok()); }

  void Put(const std::string& body) { rig_.model->Put(*rig_.journal, "t", body); }
  // In one batch.
  void PutAll(const std::vector<std::string>& bodies) {
    for (const std::string& body : bodies) Put(body);
    rig_.Flush();
  }
  void Close() {
    ASSERT_TRUE(rig_.journal->Close().ok());
    rig_.journal.reset();
  }
  // Jobs come and go until segments have left the log.
  void Churn() {
    while (rig_.journal->Segments().oldest < 3) {
      Put(std::string(200, 'c'));
      rig_.model->Delete(*rig_.journal, rig_.model->state().next_id - 1);
      rig_.Flush();
    }
  }

  SegmentHeader HeaderOf(std::uint64_t number) {
    SegmentHeader header;
    EXPECT_TRUE(DecodeSegmentHeader(rig_.disk.Content(PathOf(number)), header).ok());
    return header;
  }
  // Where the items of a kind are in a segment.
  std::vector<std::uint64_t> Offsets(std::uint64_t number, Item kind) {
    const std::string content = rig_.disk.Content(PathOf(number));
    std::vector<std::uint64_t> offsets;
    SegmentReader reader(content, HeaderOf(number));
    for (Item item = reader.Next(); item == Item::kMark || item == Item::kRecord;
         item = reader.Next()) {
      if (item == kind) offsets.push_back(reader.offset());
    }
    return offsets;
  }
  void Flip(std::uint64_t number, std::uint64_t at) {
    std::string content = rig_.disk.Content(PathOf(number));
    content.at(at) ^= 1;
    rig_.disk.SetContent(PathOf(number), content);
  }
  void FlipBody(std::uint64_t number, const std::string& body) {
    const std::size_t at = rig_.disk.Content(PathOf(number)).find(body);
    ASSERT_NE(at, std::string::npos);
    Flip(number, at);
  }
  // A segment with a header and nothing else.
  void Prepare(std::uint64_t number) {
    std::string content(2048, '\0');
    EncodeSegmentHeader({kWalVersion, number, number}, content.data());
    rig_.disk.SetContent(PathOf(number), content);
  }
  // A start is refused for damage there.
  void ExpectRefused(const std::string& where) {
    const Status started = rig_.Start();
    rig_.journal.reset();
    EXPECT_EQ(started.code(), Code::kCorrupt);
    EXPECT_NE(started.message().find(where), std::string::npos) << started.message();
  }
};

// The later part of a write came to the disk, and the earlier part did not.
TEST_F(WalCheck, AWriteOfWhichTheMiddleIsMissingIsCutOff) {
  PutAll({"stays"});
  const Model::State before = rig_.model->state();
  PutAll({"one of three", "two of three", "last of three"});
  rig_.journal.reset();
  FlipBody(1, "one of three");
  EXPECT_TRUE(Check().ok());
  EXPECT_TRUE(Reports("cut off: " + PathOf(1) + " at offset ")) << report_;
  EXPECT_TRUE(Reports(": a write was not finished")) << report_;
  EXPECT_FALSE(Reports("damaged")) << report_;
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_TRUE(SameJobs(rig_.model->state(), before));
  EXPECT_NE(rig_.journal->torn(), "");
}

TEST_F(WalCheck, RecordsThatMarksCountAndThatAreNotThereAreMissing) {
  PutAll({"one"});
  PutAll({"two"});
  PutAll({"three"});
  Close();
  const std::uint64_t at = Offsets(1, Item::kMark).at(2);
  std::string content = rig_.disk.Content(PathOf(1));
  const SegmentHeader header = HeaderOf(1);
  Mark mark = *DecodeMark(std::string_view(content).substr(at), 1, header.salt, at);
  const Lsn first = mark.next;
  mark.next += 2;
  EncodeMark(mark, 1, header.salt, at, content.data() + at);
  rig_.disk.SetContent(PathOf(1), content);
  const std::string records =
      "records " + std::to_string(first) + " to " + std::to_string(first + 1) + " are missing";
  ExpectRefused("at offset " + std::to_string(at) + ": " + records + " before it");
  EXPECT_EQ(Check().code(), Code::kCorrupt);
  EXPECT_TRUE(Reports("damaged: " + PathOf(1) + " at offset " + std::to_string(at) + " to " +
                      std::to_string(at + kMarkSize) + ": what should be before it is not there; " +
                      records))
      << report_;
}

// Three records are missing in two places: only their sum is known.
TEST_F(WalCheck, OfSeveralDamagedPlacesInABatchTheSumIsTold) {
  PutAll({"number one", "number two", "number three", "number four", "number five"});
  PutAll({"behind"});
  Close();
  FlipBody(1, "number one");
  FlipBody(1, "number three");
  FlipBody(1, "number four");
  EXPECT_EQ(Check().code(), Code::kCorrupt);
  EXPECT_TRUE(Reports("; records missing here and before: 3\n")) << report_;
  EXPECT_TRUE(Reports(" 3 live jobs")) << report_;
  ASSERT_TRUE(Salvage().ok());
  EXPECT_TRUE(Reports("\n3 records were lost\n")) << report_;
  ASSERT_TRUE(rig_.Start().ok());
  std::vector<std::string> bodies;
  for (const auto& [id, job] : rig_.model->state().jobs) bodies.push_back(job.body);
  EXPECT_EQ(bodies, (std::vector<std::string>{"number two", "number five", "behind"}));
}

// Behind damage nobody knows which record it is.
TEST_F(WalCheck, ASenselessRecordBehindDamageHasNoNumber) {
  PutAll({"number one", "number two", "number three"});
  PutAll({"behind"});
  Close();
  FlipBody(1, "number one");
  std::string content = rig_.disk.Content(PathOf(1));
  const SegmentHeader header = HeaderOf(1);
  const std::uint64_t body = content.find("number three");
  std::uint64_t at = body;
  while (!DecodeFrame(std::string_view(content).substr(at), header.salt, at)) --at;
  const auto size = static_cast<std::uint32_t>(body - at - kFrameHeaderSize);
  content[at + kFrameHeaderSize + 1] = 0x7F;  // the kind
  SealFrame(content.data() + at, size, 12, header.salt, at);
  rig_.disk.SetContent(PathOf(1), content);
  EXPECT_EQ(Check().code(), Code::kCorrupt);
  EXPECT_TRUE(Reports("damaged: " + PathOf(1) + " at offset " + std::to_string(at) + " to "))
      << report_;
  EXPECT_TRUE(Reports("; records missing here and before: 1\n")) << report_;
  ASSERT_TRUE(Salvage().ok());
  EXPECT_TRUE(Reports("\n2 records were lost\n")) << report_;
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_EQ(rig_.model->state().jobs.size(), 2U);
}

// The first mark says which records follow: without it nobody knows how many are gone.
TEST_F(WalCheck, WithoutTheFirstMarkOfTheLogTheLossIsNotCounted) {
  PutAll({"stays"});
  Churn();
  Close();
  Flip(3, kSegmentHeaderSize + 16);
  ExpectRefused(PathOf(3));
  EXPECT_EQ(Check().code(), Code::kCorrupt);
  EXPECT_TRUE(Reports("; how many records are missing is not known\n")) << report_;
  ASSERT_TRUE(Salvage().ok());
  EXPECT_TRUE(Reports("\nat least ")) << report_;
  ASSERT_TRUE(rig_.Start().ok());
}

TEST_F(WalCheck, SegmentsThatTheLogHasLeftAreNoPartOfIt) {
  const std::string first = rig_.disk.Content(PathOf(1));
  PutAll({"stays"});
  Churn();
  Close();
  ASSERT_TRUE(Check().ok());
  const std::string report = report_;
  const Model::State before = rig_.model->state();
  rig_.disk.SetContent(PathOf(1), first);
  EXPECT_TRUE(Check().ok());
  EXPECT_EQ(report_, report);
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_TRUE(SameJobs(rig_.model->state(), before));
  EXPECT_EQ(rig_.disk.Content(PathOf(1)), "");
}

TEST_F(WalCheck, AJournalThatHadNotBegunIsEmptyAndWhole) {
  rig_.journal.reset();
  std::string state(kStateSize, '\0');
  EncodeState({0, 0, 1, 1, false}, state.data());
  rig_.disk.SetImage({{"/data/state", state}});
  EXPECT_TRUE(Check().ok());
  EXPECT_EQ(report_, "0 records, 0 live jobs, settings of 0 tubes, next id 1\n");
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_TRUE(rig_.model->state().jobs.empty());
}

TEST_F(WalCheck, AStateOfANewerVersionIsRefusedByName) {
  PutAll({"stays"});
  Close();
  std::string state = rig_.disk.Content("/data/state");
  Store<std::uint32_t>(state.data() + 8, 99);
  Store<std::uint64_t>(state.data() + 56, XXH3_64bits(state.data(), 56));
  rig_.disk.SetContent("/data/state", state);
  const Image before = rig_.disk.Image();
  for (const Status& status : {rig_.Start(), (rig_.journal.reset(), Check()), Salvage()}) {
    EXPECT_EQ(status.code(), Code::kInvalid);
    EXPECT_EQ(status.message().find("/data/state is of format version 99"), 0U) << status.message();
  }
  for (const auto& [name, content] : before) EXPECT_EQ(rig_.disk.Content(name), content);
}

TEST_F(WalCheck, APreparedSegmentThatDoesNotFollowTheLogShowsAGap) {
  PutAll({"stays"});
  rig_.journal.reset();
  for (const std::string& name : rig_.disk.Names()) {
    const std::uint64_t number = SegmentNumber(name.substr(6));
    if (number > 1) rig_.disk.Unlink(name);
  }
  Prepare(3);
  ExpectRefused(PathOf(2) + " at offset 0: the file is missing");
  EXPECT_EQ(Check().code(), Code::kCorrupt);
  EXPECT_TRUE(Reports("damaged: " + PathOf(2))) << report_;
  Prepare(2);
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_EQ(rig_.model->state().jobs.size(), 1U);
}

// Only two can be: the one that was begun last, and the one behind it.
TEST_F(WalCheck, ThreeSegmentsWithoutContentAreDamage) {
  PutAll({"stays"});
  rig_.journal.reset();
  for (const std::uint64_t number : {2, 3, 4}) Prepare(number);
  ExpectRefused(PathOf(2) + " at offset 64: nothing readable is in it");
  ASSERT_TRUE(Salvage().ok());
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_EQ(rig_.model->state().jobs.size(), 1U);
}

// The next segment was begun when the end of this one was on disk.
TEST_F(WalCheck, TheEndOfASegmentThatWasSealedCannotBeTorn) {
  PutAll({"stays"});
  while (rig_.journal->Segments().current < 2) PutAll({std::string(100, 'x')});
  rig_.journal.reset();
  const std::uint64_t last = Offsets(1, Item::kMark).back();
  std::string content = rig_.disk.Content(PathOf(1));
  const Lsn missing =
      DecodeMark(std::string_view(content).substr(last), 1, HeaderOf(1).salt, last)->next;
  content.resize(last);
  rig_.disk.SetContent(PathOf(1), content);
  Prepare(2);
  ExpectRefused(PathOf(1) + " at offset " + std::to_string(last) + ": the log ends at record ");
  EXPECT_EQ(Check().code(), Code::kCorrupt);
  EXPECT_TRUE(Reports("; record " + std::to_string(missing) + " is missing\n")) << report_;
}

// As when a backup of the state was put back: it says less than the log, and nothing else.
TEST_F(WalCheck, AnOlderStateOfACleanEndDoesNotEndTheLog) {
  PutAll({"before"});
  Close();
  const std::string older = rig_.disk.Content("/data/state");
  ASSERT_TRUE(rig_.Start().ok());
  PutAll({"behind"});
  const std::uint64_t next_id = rig_.model->state().next_id;
  rig_.journal.reset();
  rig_.disk.SetContent("/data/state", older);
  EXPECT_TRUE(Check().ok());
  EXPECT_FALSE(Reports("ended in order")) << report_;
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_EQ(rig_.model->state().jobs.size(), 2U);
  EXPECT_EQ(rig_.model->state().next_id, next_id);
}

// Jobs that were taken while no id could be recorded: ids go on where they were.
TEST_F(WalCheck, JobsWithSpareIdsTakeNoOtherIds) {
  PutAll({"one"});
  Record spare;
  spare.kind = Record::Kind::kPut;
  spare.id = kFirstSpareId + 5;
  spare.tube = "t";
  rig_.journal->Append(spare);
  Close();
  EXPECT_TRUE(Check().ok());
  EXPECT_TRUE(Reports(", 2 live jobs, settings of 0 tubes, next id 2\n")) << report_;
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_TRUE(rig_.model->state().jobs.contains(spare.id));
}

}  // namespace
}  // namespace gearstalk
