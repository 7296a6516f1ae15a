#include "broker/journal/wal/wal_salvage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "broker/journal/wal/wal_format.h"
#include "broker/journal/wal/wal_reader.h"
#include "broker/journal/wal/wal_scan.h"
#include "tests/journal/damage_case.h"
#include "tests/journal/script.h"

namespace gearstalk {
namespace {

using Loss = FaultyFileSystem::Loss;

class WalSalvage : public DamageCase {
 protected:
  // Segments of 2 KB with jobs of 100 bytes, one a batch, closed.
  void SetUp() override {
    ASSERT_TRUE(rig_.Start().ok());
    rig_.model->Set(*rig_.journal, "t", {true, {1, 2, 3}, 4, 5});
    for (int i = 0; i < 60; ++i) {
      rig_.model->Put(*rig_.journal, "t", std::string(100, static_cast<char>('a' + i % 26)));
      rig_.Flush();
    }
    ASSERT_TRUE(rig_.journal->Close().ok());
    rig_.journal.reset();
    before_ = rig_.model->state();
    image_ = rig_.disk.Image();
  }

  void Flip(const std::string& path, std::size_t at) {
    std::string content = rig_.disk.Content(path);
    ASSERT_LT(at, content.size());
    content[at] = static_cast<char>(content[at] ^ 1);
    rig_.disk.SetContent(path, content);
  }

  // The segments in a directory.
  static std::size_t SegmentsIn(const std::map<std::string, std::string>& image,
                                const std::string& directory) {
    std::size_t count = 0;
    for (const auto& [path, content] : image) {
      const bool inside = path.starts_with(directory);
      count += inside && SegmentNumber(path.substr(directory.size())) != 0 ? 1 : 0;
    }
    return count;
  }
  // The machine stops at each call of a salvage; `then` gets the number of the call.
  void AtEveryInterruption(const std::function<void(std::uint64_t)>& then) {
    const auto image = rig_.disk.Image();
    const std::uint64_t before = rig_.disk.calls();
    ASSERT_TRUE(Salvage().ok());
    const std::uint64_t calls = rig_.disk.calls() - before;
    for (std::uint64_t call = 1; call <= calls; ++call) {
      for (const Loss loss : {Loss::kNone, Loss::kAll, Loss::kSome}) {
        rig_.journal.reset();
        rig_.disk.SetImage(image);
        rig_.disk.StopAt(rig_.disk.calls() + call);
        ASSERT_FALSE(Salvage().ok());
        rig_.disk.Restart(loss, static_cast<std::uint32_t>(call));
        then(call);
        if (HasFatalFailure()) return;
      }
    }
  }

  Model::State before_;
  std::map<std::string, std::string> image_;
};

TEST_F(WalSalvage, CheckListsAHealthyJournal) {
  EXPECT_TRUE(Check().ok());
  EXPECT_TRUE(Reports(PathOf(1) + ": 2048 bytes, 13 records, 11 live jobs\n")) << report_;
  EXPECT_TRUE(Reports("60 live jobs, settings of 1 tubes, next id 61\n")) << report_;
  EXPECT_FALSE(Reports("damaged")) << report_;
  EXPECT_TRUE(rig_.disk.Image() == image_);
}

TEST_F(WalSalvage, CheckCountsNoJobWhoseKeyAloneIsKept) {
  ASSERT_TRUE(rig_.Start().ok());
  Record seen;
  seen.kind = Record::Kind::kSeen;
  seen.id = 7;
  seen.tube = "t";
  seen.put_key = "of a finished job";
  seen.seen_until = 1;
  rig_.journal->Append(seen);
  ASSERT_TRUE(rig_.journal->Close().ok());
  rig_.journal.reset();
  EXPECT_TRUE(Check().ok());
  EXPECT_TRUE(Reports("59 live jobs, ")) << report_;
}

TEST_F(WalSalvage, CheckNamesDamage) {
  Flip(PathOf(2), 600);
  const Status status = Check();
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_NE(status.message().find("--journal-salvage"), std::string::npos);
  EXPECT_TRUE(Reports("damaged: " + PathOf(2) + " at offset 5")) << report_;
  EXPECT_TRUE(Reports("; record 1")) << report_;
  EXPECT_TRUE(Reports("59 live jobs")) << report_;
}

TEST_F(WalSalvage, CheckRefusesADirectoryInUse) {
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_NE(Check().message().find("in use"), std::string::npos);
  EXPECT_NE(Salvage().message().find("in use"), std::string::npos);
}

TEST_F(WalSalvage, NothingIsLostOfAHealthyJournal) {
  EXPECT_TRUE(Salvage().ok());
  EXPECT_TRUE(Reports("nothing was lost")) << report_;
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_EQ(rig_.model->state(), before_);
  EXPECT_EQ(rig_.disk.Content(PathOf(1) + ".damaged"), image_.at(PathOf(1)));
}

TEST_F(WalSalvage, OneDamagedRecordIsOneJobLost) {
  Flip(PathOf(2), 600);
  ASSERT_FALSE(rig_.Start().ok());
  rig_.journal.reset();
  EXPECT_TRUE(Salvage().ok());
  EXPECT_TRUE(Reports("lost: " + PathOf(2))) << report_;
  const Status started = rig_.Start();
  ASSERT_TRUE(started.ok()) << started.message();
  EXPECT_EQ(rig_.model->state().jobs.size(), 59U);
  EXPECT_EQ(rig_.model->state().tubes, before_.tubes);
  EXPECT_GE(rig_.model->state().next_id, before_.next_id);
  for (const auto& [id, job] : rig_.model->state().jobs) EXPECT_EQ(job, before_.jobs.at(id));
}

TEST_F(WalSalvage, ADamagedSaltOrAMissingFileIsASegmentLost) {
  for (const bool missing : {false, true}) {
    rig_.journal.reset();
    auto image = image_;
    if (missing) image.erase(PathOf(2));
    rig_.disk.SetImage(image);
    if (!missing) Flip(PathOf(2), 24);
    ASSERT_FALSE(rig_.Start().ok());
    rig_.journal.reset();
    EXPECT_TRUE(Salvage().ok());
    EXPECT_TRUE(Reports("lost: " + PathOf(2))) << report_;
    EXPECT_TRUE(Reports("; records 1")) << report_;
    ASSERT_TRUE(rig_.Start().ok());
    EXPECT_GT(rig_.model->state().jobs.size(), 40U);
    EXPECT_LT(rig_.model->state().jobs.size(), 60U);
    EXPECT_GE(rig_.model->state().next_id, before_.next_id);
  }
}

TEST_F(WalSalvage, EverySegmentHasThePoliciesOfAnAdministrator) {
  ASSERT_TRUE(rig_.Start().ok());
  const std::vector<std::string> set = {"attempts=5", "backoff=10s"};
  const std::vector<std::string_view> views(set.begin(), set.end());
  Record tube;
  tube.kind = Record::Kind::kTube;
  tube.tube = "with policy";
  tube.policy = views;
  rig_.journal->Append(tube);
  for (int i = 0; i < 60; ++i) rig_.model->Put(*rig_.journal, "t", std::string(100, 'x'));
  ASSERT_TRUE(rig_.journal->Close().ok());
  rig_.journal.reset();
  ASSERT_TRUE(Salvage().ok());
  std::size_t found = 0;
  WalScan scan(rig_.disk, "/data");
  const Status status = scan.Run([&](const Record& record, std::uint64_t) {
    if (record.tube != tube.tube) return;
    ++found;
    EXPECT_EQ(std::vector<std::string>(record.policy.begin(), record.policy.end()), set);
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_GT(found, 2U);
}

// One flipped bit in a size, or in a mark's tag, in a batch of many jobs.
TEST_F(WalSalvage, TheRestOfABatchIsReadBehindDamage) {
  rig_.options.segment_size = 64 * 1024;
  ASSERT_TRUE(rig_.Start().ok());
  for (int i = 0; i < 200; ++i) rig_.model->Put(*rig_.journal, "t", "one of a batch");
  rig_.Flush();
  for (int i = 0; i < 10; ++i) rig_.model->Put(*rig_.journal, "t", "of the next");
  ASSERT_TRUE(rig_.journal->Close().ok());
  const std::string path = PathOf(rig_.journal->Segments().current);
  rig_.journal.reset();
  const Model::State whole = rig_.model->state();
  const auto image = rig_.disk.Image();
  const std::string& content = image.at(path);
  const std::size_t body = content.find("one of a batch", content.find("one of a batch") + 14);
  ASSERT_NE(body, std::string::npos);
  SegmentHeader header;
  ASSERT_TRUE(DecodeSegmentHeader(content, header).ok());
  SegmentReader reader(content, header);
  while (reader.offset() + kFrameHeaderSize <= body && reader.next() < body) reader.Next();
  const std::size_t frame = reader.offset();
  SegmentReader marks(content, header);
  std::size_t mark = 0;
  for (auto item = marks.Next(); item != SegmentReader::Item::kEnd; item = marks.Next()) {
    if (item == SegmentReader::Item::kMark && mark == 0 && marks.offset() > frame) {
      mark = marks.offset();
    }
  }
  struct Case {
    std::size_t at;
    std::size_t lost;
  };
  for (const auto& [at, lost] : {Case{frame + 8, 1}, Case{frame + 11, 1}, Case{frame + 12, 1},
                                 Case{frame + 14, 1}, Case{mark + 8, 0}, Case{mark + 11, 0}}) {
    SCOPED_TRACE(at);
    rig_.disk.SetImage(image);
    Flip(path, at);
    EXPECT_EQ(Check().code(), Code::kCorrupt);
    ASSERT_TRUE(Salvage().ok());
    const std::string counted =
        std::to_string(lost) + (lost == 1 ? " record was" : " records were");
    EXPECT_TRUE(Reports("\n" + counted + " lost\n")) << report_;
    ASSERT_TRUE(rig_.Start().ok());
    rig_.journal.reset();
    EXPECT_EQ(rig_.model->state().jobs.size(), whole.jobs.size() - lost);
    EXPECT_GE(rig_.model->state().next_id, whole.next_id);
  }
}

// The salt alone says which frames are good.
TEST_F(WalSalvage, NothingIsLostWithADamagedHeaderWhoseSaltIsWhole) {
  constexpr std::size_t kSalt = 24;
  for (const std::uint64_t number : {std::uint64_t{1}, std::uint64_t{3}}) {
    for (std::size_t at = 0; at < kSegmentHeaderSize; ++at) {
      const bool salt = at >= kSalt && at < kSalt + 8;
      SCOPED_TRACE(at);
      rig_.disk.SetImage(image_);
      Flip(PathOf(number), at);
      ASSERT_FALSE(rig_.Start().ok());
      rig_.journal.reset();
      EXPECT_EQ(Check().code(), Code::kCorrupt);
      EXPECT_TRUE(Reports(PathOf(number) + " at offset 0 to " + (salt ? "2048" : "64") +
                          ": the header is damaged"))
          << report_;
      EXPECT_NE(Reports("60 live jobs"), salt) << report_;
      ASSERT_TRUE(Salvage().ok());
      EXPECT_NE(Reports("\n0 records were lost\n"), salt) << report_;
      ASSERT_TRUE(rig_.Start().ok());
      rig_.journal.reset();
      EXPECT_EQ(rig_.model->state().jobs.size() == before_.jobs.size(), !salt);
      EXPECT_GE(rig_.model->state().next_id, before_.next_id);
    }
  }
}

// The file of one segment under the name of another.
TEST_F(WalSalvage, RecordsOfAnotherSegmentAreNotRead) {
  rig_.disk.SetContent(PathOf(3), rig_.disk.Content(PathOf(2)));
  EXPECT_EQ(Check().code(), Code::kCorrupt);
  EXPECT_TRUE(Reports("the header is that of segment 2")) << report_;
  ASSERT_TRUE(Salvage().ok());
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_LT(rig_.model->state().jobs.size(), before_.jobs.size());
}

TEST_F(WalSalvage, NewFilesBelongToTheOwnerOfTheDirectory) {
  Flip(PathOf(2), 600);
  ASSERT_TRUE(Salvage().ok());
  const auto given = rig_.disk.given();
  const auto was_given = [&given](const std::string& path) {
    return std::find(given.begin(), given.end(), path) != given.end();
  };
  std::size_t segments = 0;
  for (const std::string& name : rig_.disk.Names()) {
    if (!name.ends_with(".wal")) continue;
    ++segments;
    EXPECT_TRUE(was_given("/data/salvaged/" + name.substr(6))) << name;
  }
  EXPECT_GT(segments, 0U);
  EXPECT_TRUE(was_given("/data/salvaged/state"));
  EXPECT_TRUE(was_given("/data/lock"));
}

TEST_F(WalSalvage, WithoutAJournalNothingIsTouched) {
  rig_.disk.SetImage({{"/data/hosts", "127.0.0.1"}, {"/data/7.wal", "not a segment's name"}});
  const auto image = rig_.disk.Image();
  EXPECT_EQ(Check().code(), Code::kNotFound);
  EXPECT_EQ(Salvage().message(), "/data: no journal here");
  EXPECT_TRUE(rig_.disk.Image() == image);
}

TEST_F(WalSalvage, CheckTakesNoLockThatIsNotThere) {
  auto image = image_;
  image.erase("/data/lock");
  rig_.disk.SetImage(image);
  EXPECT_TRUE(Check().ok());
  EXPECT_TRUE(rig_.disk.Image() == image);
}

// Whatever byte is damaged: a start succeeds after it, nothing is invented, and little is lost.
TEST_F(WalSalvage, EveryByte) {
  for (const auto& [name, content] : image_) {
    for (std::size_t at = 0; at < content.size(); at += 3) {
      rig_.journal.reset();
      rig_.disk.SetImage(image_);
      Flip(name, at);
      ASSERT_TRUE(Salvage().ok()) << name << " at " << at;
      const bool lost = Reports("lost: ");
      const Status started = rig_.Start();
      ASSERT_TRUE(started.ok()) << name << " at " << at << ": " << started.message();
      const auto& found = rig_.model->state();
      for (const auto& [id, job] : found.jobs) ASSERT_EQ(job, before_.jobs.at(id));
      ASSERT_GE(found.next_id, before_.next_id);
      ASSERT_GE(found.jobs.size(), at < kSegmentHeaderSize ? 40U : 59U) << name << " at " << at;
      if (!lost) {
        ASSERT_EQ(found.jobs.size(), 60U) << name << " at " << at;
      }
    }
  }
}

// The copy takes over completely or not at all, and can be taken up again.
TEST_F(WalSalvage, InterruptedAtEveryCall) {
  Flip(PathOf(2), 600);
  AtEveryInterruption([this](std::uint64_t call) {
    const Status started = rig_.Start();
    rig_.journal.reset();
    if (!started.ok()) {
      const Status again = Salvage();
      ASSERT_TRUE(again.ok()) << call << ": " << again.message();
      ASSERT_TRUE(rig_.Start().ok()) << call;
    }
    ASSERT_EQ(rig_.model->state().jobs.size(), 59U) << call;
  });
}

TEST_F(WalSalvage, NewerVersionIsNotTouched) {
  std::string content = rig_.disk.Content(PathOf(2));
  SegmentHeader header;
  ASSERT_TRUE(DecodeSegmentHeader(content, header).ok());
  header.version = kWalVersion + 1;
  EncodeSegmentHeader(header, content.data());
  rig_.disk.SetContent(PathOf(2), content);
  EXPECT_EQ(Check().code(), Code::kInvalid);
  EXPECT_EQ(Salvage().code(), Code::kInvalid);
  EXPECT_EQ(rig_.disk.Content(PathOf(2)), content);
}

// Whoever calls it again after an interruption, instead of starting a broker, has it continued.
TEST_F(WalSalvage, CalledAgainAfterAnyInterruptionItGetsDone) {
  Flip(PathOf(2), 600);
  AtEveryInterruption([this, damaged = rig_.disk.Content(PathOf(2))](std::uint64_t call) {
    const Status again = Salvage();
    ASSERT_TRUE(again.ok()) << call << ": " << again.message();
    std::vector<std::string> left;
    ASSERT_EQ(rig_.disk.List("/data/salvaged", left), -ENOENT) << call;
    ASSERT_EQ(rig_.disk.Content(PathOf(2) + ".damaged"), damaged) << call;
    const Status started = rig_.Start();
    ASSERT_TRUE(started.ok()) << call << ": " << started.message();
    ASSERT_EQ(rig_.model->state().jobs.size(), 59U) << call;
    ASSERT_GE(rig_.model->state().next_id, before_.next_id) << call;
  });
}

// An error of the disk ends it with the name of a file; it loses nothing and can be called again.
TEST_F(WalSalvage, AnErrorOfTheDiskIsNamedAndLosesNothing) {
  Flip(PathOf(2), 600);
  const auto damaged = rig_.disk.Image();
  for (const int error : {EIO, ENOSPC}) {
    for (const std::uint64_t times : {1, 3}) {
      bool reached = true;
      for (std::uint64_t call = 1; reached; ++call) {
        rig_.journal.reset();
        rig_.disk.SetImage(damaged);
        const std::uint64_t at = rig_.disk.calls() + call;
        rig_.disk.FailAt(at, error, times);
        const Status salvaged = Salvage();
        reached = rig_.disk.calls() >= at;
        rig_.disk.FailAt(0, 0);
        if (!salvaged.ok()) {
          ASSERT_EQ(salvaged.code(), Code::kIo) << call << ": " << salvaged.message();
          ASSERT_NE(salvaged.message().find("/data"), std::string::npos) << salvaged.message();
          const Status again = Salvage();
          ASSERT_TRUE(again.ok()) << call << ": " << again.message();
        }
        const Status started = rig_.Start();
        ASSERT_TRUE(started.ok()) << call << ": " << started.message();
        ASSERT_EQ(rig_.model->state().jobs.size(), 59U) << call;
        ASSERT_GE(rig_.model->state().next_id, before_.next_id) << call;
      }
    }
  }
}

TEST_F(WalSalvage, AnErrorOfTheDiskIsNoDamageToTheCheck) {
  bool reached = true;
  for (std::uint64_t call = 1; reached; ++call) {
    const std::uint64_t at = rig_.disk.calls() + call;
    rig_.disk.FailAt(at, EIO);
    const Status checked = Check();
    reached = rig_.disk.calls() >= at;
    rig_.disk.FailAt(0, 0);
    if (!checked.ok()) {
      ASSERT_EQ(checked.code(), Code::kIo) << call << ": " << checked.message();
      ASSERT_NE(checked.message().find("/data"), std::string::npos) << checked.message();
    }
    ASSERT_FALSE(Reports("damaged")) << call << ": " << report_;
  }
  EXPECT_TRUE(rig_.disk.Image() == image_);
}

TEST_F(WalSalvage, ACopyThatCannotBeTrustedIsMadeAgain) {
  Flip(PathOf(2), 600);
  const auto damaged = rig_.disk.Image();
  for (const char* left : {"/data/salvaged/state", "/data/salvaged/0000000099.wal"}) {
    SCOPED_TRACE(left);
    rig_.journal.reset();
    auto image = damaged;
    image[left] = "of a run that was interrupted";
    rig_.disk.SetImage(image);
    ASSERT_TRUE(Salvage().ok());
    EXPECT_EQ(rig_.disk.Content(left), "");
    ASSERT_TRUE(rig_.Start().ok());
    EXPECT_EQ(rig_.model->state().jobs.size(), 59U);
  }
}

TEST_F(WalSalvage, WithoutAStateTheSegmentsAreRead) {
  auto image = image_;
  image.erase("/data/state");
  rig_.disk.SetImage(image);
  Flip(PathOf(2), 600);
  ASSERT_TRUE(Salvage().ok());
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_EQ(rig_.model->state().jobs.size(), 59U);
  EXPECT_EQ(rig_.model->state().tubes, before_.tubes);
}

TEST_F(WalSalvage, ThatLostAllSegmentsBeginsANewJournalWithNewIds) {
  std::map<std::string, std::string> image = {{"/data/state", image_.at("/data/state")},
                                              {"/data/salvaged/" + SegmentName(7), "left"}};
  rig_.disk.SetImage(image);
  ASSERT_TRUE(Salvage().ok());
  EXPECT_TRUE(Reports("lost: ")) << report_;
  ASSERT_TRUE(rig_.Start().ok());
  EXPECT_TRUE(rig_.model->state().jobs.empty());
  EXPECT_GE(rig_.model->state().next_id, before_.next_id);
}

// The run before was interrupted while it copied, while it moved segments, or before it moved the
// state; now a call fails.
TEST_F(WalSalvage, AnErrorOfTheDiskAfterAnInterruptionLosesNothing) {
  Flip(PathOf(2), 600);
  const auto damaged = rig_.disk.Image();
  std::map<std::string, std::map<std::string, std::string>> interrupted;
  bool reached = true;
  for (std::uint64_t call = 1; reached; ++call) {
    rig_.disk.SetImage(damaged);
    rig_.disk.StopAt(rig_.disk.calls() + call);
    reached = !Salvage().ok();
    rig_.disk.Restart(Loss::kNone);
    const auto image = rig_.disk.Image();
    const std::size_t segments = SegmentsIn(image, "/data/salvaged/");
    const bool moves = SegmentsIn(image, "/data/") > SegmentsIn(damaged, "/data/");
    if (!moves && segments > 2) interrupted["copying"] = image;
    if (moves && segments > 0) interrupted["moving"] = image;
    if (segments == 0 && image.contains("/data/salvaged/state")) interrupted["its state"] = image;
  }
  ASSERT_EQ(interrupted.size(), 3U);
  for (const auto& [when, image] : interrupted) {
    SCOPED_TRACE(when);
    reached = true;
    for (std::uint64_t call = 1; reached; ++call) {
      rig_.journal.reset();
      rig_.disk.SetImage(image);
      const std::uint64_t at = rig_.disk.calls() + call;
      rig_.disk.FailAt(at, EIO);
      const Status salvaged = Salvage();
      reached = rig_.disk.calls() >= at;
      rig_.disk.FailAt(0, 0);
      if (!salvaged.ok()) {
        ASSERT_EQ(salvaged.code(), Code::kIo) << call << ": " << salvaged.message();
        ASSERT_TRUE(Salvage().ok()) << call;
      }
      ASSERT_TRUE(rig_.Start().ok()) << call;
      ASSERT_EQ(rig_.model->state().jobs.size(), 59U) << call;
      ASSERT_GE(rig_.model->state().next_id, before_.next_id) << call;
    }
  }
}

// The disk was full, the damaged segment came back from a backup, and a broker went on.
TEST_F(WalSalvage, ACopyThatALaterLogHasPassedIsNotTakenOver) {
  const std::uint64_t before = rig_.disk.calls();
  ASSERT_TRUE(Salvage().ok());
  const std::uint64_t calls = rig_.disk.calls() - before;
  int went_on = 0;
  for (std::uint64_t call = 1; call <= calls; ++call) {
    rig_.journal.reset();
    rig_.disk.SetImage(image_);
    rig_.disk.FailAt(rig_.disk.calls() + call, ENOSPC, 1'000'000);
    if (Salvage().ok()) continue;
    rig_.disk.FailAt(0, 0);
    if (!rig_.Start().ok()) continue;  // some segments were moved already
    ++went_on;
    for (int i = 0; i < 40; ++i) {
      rig_.model->Put(*rig_.journal, "t", std::string(100, 'n'));
      rig_.Flush();
    }
    const Model::State whole = rig_.model->state();
    ASSERT_TRUE(rig_.journal->Close().ok());
    rig_.journal.reset();
    ASSERT_TRUE(Salvage().ok()) << call;
    EXPECT_TRUE(Reports("nothing was lost")) << call << "\n" << report_;
    ASSERT_TRUE(rig_.Start().ok()) << call;
    ASSERT_TRUE(SameJobs(rig_.model->state(), whole))
        << call << ": " << rig_.model->state().jobs.size();
  }
  EXPECT_GT(went_on, 100);
}

}  // namespace
}  // namespace gearstalk
