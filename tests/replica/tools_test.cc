// What the tools for a replicated journal say of it, and what they write.

#include "tests/replica/tools_fixture.h"

namespace gearstalk {
namespace {

const std::string kHead = "format 1, server_name gearstalkd, created 2026-01-02T03:04:05Z\n";
const std::string kDamaged =
    "the replicated journal is damaged: restore the store from a backup, or a new shard with "
    "--journal-import from an export";
const std::string kUnfinished =
    "meta is missing: the import of this journal was not finished (unless it still runs, erase it, "
    "and import again), or keys of it were deleted (restore the store)";

class CheckTest : public ToolsTest {
 protected:
  // What a check of a damaged journal says of the damage.
  std::string Damage() {
    const Status status = CheckReplica(store, report);
    EXPECT_EQ(status.code(), Code::kCorrupt);
    EXPECT_EQ(status.message(), kDamaged);
    const std::size_t at = report.find("damaged: ");
    return at == std::string::npos ? "" : report.substr(at);
  }
  void Start(std::uint64_t batches) {
    Found();
    Lead(false);
    KeepBatches(batches);
  }
};

TEST_F(CheckTest, OfAShardThatNobodyFounded) {
  const Status status = CheckReplica(store, report);
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(status.message(), "there is no journal in this shard");
  EXPECT_EQ(report, "");
}

TEST_F(CheckTest, OfAShardOfWhichOnlyPartsAreLeft) {
  KeepBatches(2);
  const Revision at = shard.view.at;
  shard.view = {};
  shard.view.at = at;
  const std::string remains =
      "meta, leader and tail are missing, and j/0000000000000001 is there: keys of this journal "
      "were deleted; restore the store, or erase it to begin without any job";
  EXPECT_EQ(CheckReplica(store, report).message(), remains);
  EXPECT_EQ(ExportReplica(store, Folder("out"), report).message(), remains);
  EXPECT_EQ(UpgradeReplica(store, report).message(), remains);
  EXPECT_EQ(CheckReplica(store, report).code(), Code::kCorrupt);
}

TEST_F(CheckTest, OfAShardThatNobodyHasLed) {
  Found();
  EXPECT_TRUE(CheckReplica(store, report).ok());
  EXPECT_EQ(report, kHead + "no broker has led yet\n0 records, 0 live jobs\n");
}

TEST_F(CheckTest, CountsBatchesAndLiveJobsOfEachSegment) {
  Found();
  Lead(false);
  Keep(maker.Batch({1, 2, 3}));
  KeepDelete(2);
  maker.segment = 2;
  Keep(maker.Batch({4}));
  Keep(maker.Batch({1}));  // carried forward
  KeepDelete(77);          // of a job that is not there
  const Status status = CheckReplica(store, report);
  EXPECT_TRUE(status.ok()) << status.message();
  const auto size = [this](std::uint64_t from, std::uint64_t to) {
    std::size_t bytes = 0;
    for (std::uint64_t seq = from; seq <= to; ++seq) bytes += shard.parts[seq].size();
    return std::to_string(bytes);
  };
  EXPECT_EQ(report, kHead + "reign: epoch 3, b1 at host:1, lease 2000 ms\n" +
                        "parts j/0000000000000001 to j/0000000000000005\n" +
                        "segment 1 from j/0000000000000001: 2 batches, " + size(1, 2) +
                        " bytes, 1 live jobs\n" + "segment 2 from j/0000000000000003: 3 batches, " +
                        size(3, 5) + " bytes, 2 live jobs\n" + "7 records, 3 live jobs\n");
}

TEST_F(CheckTest, OfABrokerThatLeft) {
  Found();
  Lead(true);
  KeepBatches(40);  // three pages
  EXPECT_TRUE(CheckReplica(store, report).ok());
  EXPECT_TRUE(report.starts_with(kHead + "reign: epoch 3, b1 at host:1, lease 2000 ms, vacant\n"));
  EXPECT_TRUE(report.ends_with("40 records, 40 live jobs\n"));
}

TEST_F(CheckTest, OfAnImportThatDidNotEnd) {
  Lead(false);
  const Status status = CheckReplica(store, report);
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_EQ(status.message(), kUnfinished);
  EXPECT_EQ(report, "");
}

TEST_F(CheckTest, OfANewerFormat) {
  Start(1);
  shard.view.meta.format = kReplicaFormat + 1;
  const Status status = CheckReplica(store, report);
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_EQ(status.message(),
            "the replicated journal has format 2; this gearstalkd knows formats up to 1: upgrade "
            "it");
}

TEST_F(CheckTest, NamesThePartsThatAreMissing) {
  Start(5);
  shard.parts.erase(2);
  shard.parts.erase(3);
  EXPECT_EQ(Damage(), "damaged: j/0000000000000002 to j/0000000000000003: missing\n");
  EXPECT_NE(report.find("3 records, 3 live jobs\n"), std::string::npos) << report;
}

TEST_F(CheckTest, NamesTheEndThatIsMissing) {
  Start(5);
  shard.parts.erase(4);
  shard.parts.erase(5);
  EXPECT_EQ(Damage(), "damaged: j/0000000000000004 to j/0000000000000005: missing\n");
}

TEST_F(CheckTest, GoesOnBehindAPartThatIsDamaged) {
  Start(4);
  shard.parts[2].back() ^= 1;
  EXPECT_TRUE(Damage().starts_with("damaged: j/0000000000000002: ")) << report;
  EXPECT_NE(report.find("3 records, 3 live jobs\n"), std::string::npos) << report;
}

TEST_F(CheckTest, FindsAPartBehindTheEnd) {
  Start(3);
  shard.view.last = 2;
  EXPECT_EQ(Damage(),
            "damaged: j/0000000000000003: lies behind the end of the journal that `tail` names\n");
  EXPECT_NE(report.find("2 records, 2 live jobs\n"), std::string::npos) << report;
}

TEST_F(CheckTest, FindsABeginningThatItsEndDoesNotName) {
  Start(3);
  shard.view.oldest = 2;
  EXPECT_TRUE(
      Damage().ends_with("damaged: tail: the journal begins with j/0000000000000002, but "
                         "its last part says j/0000000000000001\n"))
      << report;
}

// A journal with more than a page, which its broker trims while it is read.
TEST_F(CheckTest, GoesOnWhenTheRevisionIsNotKept) {
  Start(40);
  meanwhile = [this] {
    if (link.reads == 3) shard.compacted = shard.view.at = 1'000;
  };
  const Status status = CheckReplica(store, report);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(report.ends_with("40 records, 40 live jobs\n")) << report;
  EXPECT_EQ(link.reads, 5U);
}

TEST_F(CheckTest, CannotGoOnWhenTheJournalWasTrimmed) {
  Start(40);
  meanwhile = [this] {
    if (link.reads == 3) {
      shard.compacted = shard.view.at = 1'000;
      shard.view.oldest = 30;
    }
  };
  const Status status = CheckReplica(store, report);
  EXPECT_EQ(status.code(), Code::kJournal);
  EXPECT_EQ(status.message(), "the journal was trimmed meanwhile; try again");
}

TEST_F(CheckTest, WaitsForAStoreThatLosesCalls) {
  Start(40);
  link.lose_request = link.lose_answer = 50;
  const Status status = CheckReplica(store, report);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(report.ends_with("40 records, 40 live jobs\n")) << report;
}

TEST_F(CheckTest, GoesOnWhenTheEndIsNotKept) {
  Start(20);
  meanwhile = [this] {
    if (link.reads == 1) shard.compacted = shard.view.at = 1'000;
  };
  const Status status = CheckReplica(store, report);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(report.ends_with("20 records, 20 live jobs\n")) << report;
}

TEST_F(CheckTest, EndsWithAStoreThatFailsInTheMiddle) {
  Start(20);
  meanwhile = [this] {
    if (link.reads == 2) link.read = {StoreAnswer::kFailed, {Code::kIo, "it is gone"}};
  };
  EXPECT_EQ(CheckReplica(store, report).message(), "it is gone");
  EXPECT_TRUE(report.ends_with("16 records, 16 live jobs\n")) << report;
}

TEST_F(CheckTest, EndsWhereTheRevisionIsNotKeptAndNoOtherIsKnown) {
  Start(20);
  meanwhile = [this] {
    if (link.reads != 2) return;
    shard.compacted = shard.view.at + 1;
    link.looked = kDenied;
  };
  const Status status = CheckReplica(store, report);
  EXPECT_EQ(status.code(), Code::kJournal);
  EXPECT_EQ(status.message(), "the journal was trimmed meanwhile; try again");
}

class ExportTest : public ToolsTest {
 protected:
  void Start() {
    Found();
    Lead(true);
    KeepBatches(20);
    KeepDelete(3);
  }
};

TEST_F(ExportTest, WritesAJournalThatABrokerReads) {
  Start();
  const Status status = ExportReplica(store, Folder("out") + "/", report);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(report, "exported 21 records up to j/0000000000000015 into " + Folder("out") + "\n");
  EXPECT_EQ(Folders(), (std::set<std::string>{"out"}));
  const Contents read = ReadJournal(Folder("out"));
  EXPECT_EQ(read.jobs.size(), 19U);
  EXPECT_FALSE(read.jobs.contains(3));
  EXPECT_EQ(read.jobs.at(20), "body");
  EXPECT_EQ(read.next_id, 21U);
}

TEST_F(ExportTest, OverwritesNothing) {
  Start();
  for (const char* name : {"out", "two.new"}) std::filesystem::create_directory(Folder(name));
  EXPECT_EQ(ExportReplica(store, Folder("out"), report).message(),
            "mkdir " + Folder("out") + ": File exists");
  const Status status = ExportReplica(store, Folder("two"), report);
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_EQ(status.message(),
            "mkdir " + Folder("two.new") +
                ": File exists: of an export that runs, or was killed; if none runs, remove it");
  EXPECT_EQ(Folders(), (std::set<std::string>{"out", "two.new"}));
  EXPECT_TRUE(std::filesystem::is_empty(Folder("two.new")));
  EXPECT_EQ(report, "");
}

TEST_F(ExportTest, OfDamageLeavesNothing) {
  Start();
  shard.parts[18].back() ^= 1;
  Status status = ExportReplica(store, Folder("out"), report);
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_TRUE(status.message().starts_with("j/0000000000000012: ")) << status.message();
  shard.parts.erase(18);
  status = ExportReplica(store, Folder("out"), report);
  EXPECT_EQ(status.message(), "j/0000000000000012: is missing");
  shard.parts[22] = "more";
  status = ExportReplica(store, Folder("out"), report);
  EXPECT_EQ(status.message(),
            "j/0000000000000016: lies behind the end of the journal that `tail` names");
  EXPECT_EQ(Folders(), std::set<std::string>{});
  EXPECT_EQ(report, "");
}

TEST_F(ExportTest, NeedsAJournal) {
  EXPECT_EQ(ExportReplica(store, Folder("out"), report).message(),
            "there is no journal in this shard");
  Found();
  const Status status = ExportReplica(store, Folder("none") + "/out", report);
  EXPECT_EQ(status.message(), "mkdir " + Folder("none") + "/out.new: No such file or directory");
  EXPECT_EQ(Folders(), std::set<std::string>{});
}

TEST_F(ExportTest, OfTwoAtATimeOneIsKept) {
  Start();
  meanwhile = [this] {
    if (std::filesystem::exists(Folder("out.new"))) {
      std::filesystem::create_directories(Folder("out") + "/kept");
    }
  };
  const Status status = ExportReplica(store, Folder("out"), report);
  EXPECT_EQ(status.message(), "rename " + Folder("out.new") + ": Directory not empty");
  EXPECT_EQ(Folders(), (std::set<std::string>{"out"}));
  EXPECT_TRUE(std::filesystem::exists(Folder("out") + "/kept"));
}

TEST_F(ExportTest, IntoTheCurrentFolder) {
  Start();
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(Folder(""));
  const Status status = ExportReplica(store, "out", report);
  std::filesystem::current_path(before);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(ReadJournal(Folder("out")).jobs.size(), 19U);
}

class UpgradeTest : public ToolsTest {};

TEST_F(UpgradeTest, RaisesAnOlderFormat) {
  Found();
  shard.view.meta.format = 0;
  EXPECT_TRUE(UpgradeReplica(store, report).ok());
  EXPECT_EQ(report, "raised format 0 to format 1\n");
  EXPECT_EQ(shard.view.meta.format, kReplicaFormat);
  EXPECT_EQ(shard.view.meta.server_name, "gearstalkd");
  report.clear();
  EXPECT_TRUE(UpgradeReplica(store, report).ok());
  EXPECT_EQ(report, "the journal has format 1 already\n");
}

TEST_F(UpgradeTest, LowersNone) {
  EXPECT_EQ(UpgradeReplica(store, report).message(), "there is no journal in this shard");
  Found();
  shard.view.meta.format = 9;
  const Status status = UpgradeReplica(store, report);
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_EQ(status.message(), "the journal has format 9, newer than this gearstalkd's format 1");
  EXPECT_EQ(shard.view.meta.format, 9U);
  EXPECT_EQ(report, "");
}

TEST_F(UpgradeTest, GivesWayToAnother) {
  Found();
  shard.view.meta.format = 0;
  int turns = 0;
  meanwhile = [this, &turns] {
    // Behind its look.
    if (++turns == 3) shard.view.meta_at = shard.Begin();
  };
  EXPECT_EQ(UpgradeReplica(store, report).code(), Code::kJournal);
  EXPECT_EQ(shard.view.meta.format, 0U);
  EXPECT_EQ(report, "");
}

class UnusableTest : public ToolsTest {
 protected:
  void ExpectEach(const std::string& why) {
    EXPECT_EQ(CheckReplica(store, report).message(), why);
    EXPECT_EQ(ExportReplica(store, Folder("out"), report).message(), why);
    EXPECT_EQ(UpgradeReplica(store, report).message(), why);
    EXPECT_EQ(report, "");
    EXPECT_EQ(Folders(), std::set<std::string>{});
  }
};

TEST_F(UnusableTest, AStoreSaysWhy) {
  Found();
  Lead(true);
  KeepBatches(3);
  shard.view.meta.format = 0;
  link.opened = kDenied;
  ExpectEach("permission denied");
  link.opened = {};
  link.looked = kDenied;
  ExpectEach("permission denied");
  link.looked = {};
  link.read = kDenied;
  EXPECT_EQ(CheckReplica(store, report).message(), "permission denied");
  EXPECT_EQ(ExportReplica(store, Folder("out"), report).message(), "permission denied");
  EXPECT_EQ(Folders(), std::set<std::string>{});
}

}  // namespace
}  // namespace gearstalk
