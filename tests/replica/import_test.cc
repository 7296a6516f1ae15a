// From a journal directory into a shard, and what keeps it from there.

#include <fstream>

#include "broker/journal/wal/file_system.h"
#include "tests/replica/tools_fixture.h"
#include "tests/support/record_of.h"

namespace gearstalk {
namespace {

class ImportTest : public ToolsTest {
 protected:
  ImportTest() {
    options.name = "b2";
    options.address = "host:2";
    options.server_name = "gearstalkd";
    options.boot = options.wall = [this] { return simulation.now; };
    options.random = [this] { return simulation.random(); };
  }

  Status Import() { return ImportReplica(store, options, Folder("in"), report); }
  void WriteTwo() { WriteJournal(Folder("in"), {PutOf(1, "one"), PutOf(2, "two")}); }
  // Nothing that a broker would start from.
  void ExpectRefused(const std::string& why) {
    const Status status = Import();
    EXPECT_EQ(status.code(), Code::kInvalid);
    EXPECT_EQ(status.message(), why);
    EXPECT_EQ(report, "");
    EXPECT_TRUE(shard.parts.empty());
  }
  // Runs `what` once, when the import waits and leads.
  void OnceItLeads(std::function<void()> what) {
    meanwhile = [this, what = std::move(what)] {
      if (shard.view.leader_at == 0) return;
      what();
      meanwhile = nullptr;
    };
  }

  ReplicaOptions options;
};

// Changes and counts of jobs that are gone stay behind; what tubes, schedules and keys need comes.
TEST_F(ImportTest, TakesWhatIsLive) {
  Record buried = RecordOf(Record::Kind::kChange, 2);
  buried.state = Record::State::kBuried;
  Record seen = RecordOf(Record::Kind::kSeen, 9), forgotten = RecordOf(Record::Kind::kSeen, 10);
  seen.tube = forgotten.tube = "t";
  seen.put_key = forgotten.put_key = "order-17";
  seen.seen_until = forgotten.seen_until = simulation.now + kSecond;
  Record tube = RecordOf(Record::Kind::kTube, 0);
  tube.tube = "paused";
  tube.settings.pause_until = kSecond;
  WriteJournal(Folder("in"),
               {PutOf(1, "one"), PutOf(2, "two"), PutOf(3, "three"), buried,
                RecordOf(Record::Kind::kChange, 3), RecordOf(Record::Kind::kCount, 1),
                RecordOf(Record::Kind::kCount, 3), RecordOf(Record::Kind::kDelete, 3), tube,
                PutOf(9, "nine"), seen, forgotten, RecordOf(Record::Kind::kDelete, 10),
                RecordOf(Record::Kind::kNextId, 50)});
  const Status status = Import();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(report, "imported 2 live jobs in 8 records from " + Folder("in") + "\n");
  EXPECT_TRUE(shard.view.leader.vacant);
  EXPECT_EQ(shard.view.leader.broker, "b2 (import)");
  EXPECT_EQ(shard.view.leader.epoch, 1U);
  EXPECT_EQ(shard.view.meta.server_name, "gearstalkd");
  EXPECT_EQ(shard.view.meta.created, "1970-01-01T00:16:40Z");
  ASSERT_TRUE(ExportReplica(store, Folder("out"), report).ok()) << report;
  const Contents read = ReadJournal(Folder("out"));
  EXPECT_EQ(read.jobs, (std::map<std::uint64_t, std::string>{{1, "one"}, {2, "two"}}));
  EXPECT_EQ(read.buried, (std::set<std::uint64_t>{2}));
  EXPECT_EQ(read.seen, (std::set<std::uint64_t>{9}));
  EXPECT_EQ(read.tubes, (std::set<std::string>{"paused"}));
  EXPECT_EQ(read.next_id, 50U);
}

TEST_F(ImportTest, BeginsSegmentsAsABrokerDoes) {
  const std::string body(60'000, 'x');
  std::vector<Record> records;
  for (std::uint64_t id = 1; id <= 150; ++id) records.push_back(PutOf(id, body));
  WriteJournal(Folder("in"), records);
  const Status status = Import();
  ASSERT_TRUE(status.ok()) << status.message();
  report.clear();
  EXPECT_TRUE(CheckReplica(store, report).ok());
  EXPECT_TRUE(report.ends_with("151 records, 150 live jobs\n")) << report;
  for (const char* segment : {"segment 1 ", "segment 2 ", "segment 3 "}) {
    EXPECT_NE(report.find(segment), std::string::npos) << report;
  }
  ASSERT_TRUE(ExportReplica(store, Folder("out"), report).ok()) << report;
  EXPECT_EQ(ReadJournal(Folder("out")).jobs, ReadJournal(Folder("in")).jobs);
}

// An answer is lost after the store did what it was asked: the import finds what it has done.
TEST_F(ImportTest, WaitsForAStoreThatLosesCalls) {
  WriteTwo();
  link.lose_request = link.lose_answer = 50;
  const Status status = Import();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_NE(shard.view.meta_at, 0);
  EXPECT_EQ(shard.view.last, 1U);
}

TEST_F(ImportTest, LeavesRoomForOtherJobs) {
  WriteJournal(Folder("in"), {PutOf(1, std::string(900, 'x'))});
  options.max_bytes = 1000;
  const Status status = Import();
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_TRUE(status.message().ends_with(
      " bytes; a broker with replica.max_bytes 1000 would take no others"))
      << status.message();
  EXPECT_EQ(shard.view.at, 0);
}

TEST_F(ImportTest, OfWhatIsNoJournal) {
  EXPECT_FALSE(Import().ok());
  WriteTwo();
  const auto lock = LockDirectory(SystemFileSystem(), Folder("in"));
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(Import().code(), Code::kInvalid);
  EXPECT_EQ(shard.view.at, 0);
  EXPECT_EQ(report, "");
}

TEST_F(ImportTest, OfADirectoryWithoutAJournal) {
  std::filesystem::create_directory(Folder("in"));
  const Status status = Import();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_EQ(status.message(), Folder("in") + ": no journal here");
  EXPECT_EQ(shard.view.at, 0);
  EXPECT_TRUE(std::filesystem::is_empty(Folder("in")));
}

// An import into it would end with the advice to erase what can be restored.
TEST_F(ImportTest, IntoAShardOfWhichOnlyPartsAreLeft) {
  WriteTwo();
  KeepBatches(2);
  const Revision at = shard.view.at;
  shard.view = {};
  shard.view.at = at;
  const Status status = Import();
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_EQ(status.message(),
            "meta, leader and tail are missing, and j/0000000000000001 is there: keys of this "
            "journal were deleted; restore the store, or erase it to begin without any job");
  EXPECT_EQ(shard.view.at, at);
}

TEST_F(ImportTest, OverwritesNoJournal) {
  WriteTwo();
  Found();
  const std::string founded =
      "a broker has founded this shard already: stop all brokers of it, erase it (erase), and "
      "import again";
  ExpectRefused(founded);
  Lead(true);
  ExpectRefused(founded);
  Lead(false);
  ExpectRefused("the broker b1 leads this shard; stop all of its brokers");
  shard.view.last = 3;
  ExpectRefused("this shard has a journal already; choose another shard");
}

TEST_F(ImportTest, DoesNotGoOnWithAnImportThatDidNotEnd) {
  WriteTwo();
  Lead(true);
  const Status status = Import();
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_TRUE(status.message().starts_with("meta is missing: the import of this journal was not "));
  EXPECT_TRUE(shard.parts.empty());
}

TEST_F(ImportTest, GivesWayToABrokerThatFoundsTheShard) {
  WriteTwo();
  OnceItLeads([this] { Found(); });
  ExpectRefused(
      "a broker founded this shard at the same time; stop all of its brokers, erase it, and import "
      "again");
  EXPECT_TRUE(shard.view.leader.vacant);
}

TEST_F(ImportTest, GivesWayToABrokerThatLeads) {
  WriteTwo();
  meanwhile = [this] {
    if (link.appends > 0) shard.view.leader_at = shard.Begin();
  };
  const Status status = Import();
  EXPECT_EQ(status.code(), Code::kJournal);
  EXPECT_EQ(status.message(), "another broker leads this shard");
  EXPECT_EQ(shard.view.meta_at, 0);
  EXPECT_EQ(report, "");
}

TEST_F(ImportTest, FoundsNothingInAStoreWithoutSpace) {
  WriteTwo();
  OnceItLeads([this] { shard.full = true; });
  const Status status = Import();
  EXPECT_EQ(status.code(), Code::kJournal);
  EXPECT_EQ(status.message(), "full");
  EXPECT_EQ(shard.view.meta_at, 0);
  EXPECT_EQ(report, "");
}

TEST_F(ImportTest, LeadsNothingInAStoreWithoutSpace) {
  WriteTwo();
  shard.full = true;
  EXPECT_EQ(Import().message(), "full");
  EXPECT_EQ(shard.view.at, 0);
}

TEST_F(ImportTest, OfADamagedJournal) {
  WriteTwo();
  for (const auto& each : std::filesystem::directory_iterator(Folder("in"))) {
    if (each.file_size() == 0) continue;
    std::fstream file(each.path(), std::ios::in | std::ios::out | std::ios::binary);
    file << "no journal";
  }
  const Status status = Import();
  EXPECT_EQ(status.code(), Code::kCorrupt) << status.message();
  EXPECT_EQ(shard.view.at, 0);
}

TEST_F(ImportTest, IntoAStoreThatCannotBeUsed) {
  WriteTwo();
  link.opened = kDenied;
  ExpectRefused("permission denied");
  link.opened = {};
  link.looked = kDenied;
  ExpectRefused("permission denied");
  EXPECT_EQ(shard.view.at, 0);
}

TEST_F(ImportTest, EndsInTheMiddleWhenABrokerLeads) {
  const std::string body(60'000, 'x');
  std::vector<Record> records;
  for (std::uint64_t id = 1; id <= 80; ++id) records.push_back(PutOf(id, body));
  WriteJournal(Folder("in"), records);
  meanwhile = [this] {
    if (link.appends == 3) shard.view.leader_at = shard.Begin();
  };
  EXPECT_EQ(Import().message(), "another broker leads this shard");
  EXPECT_EQ(shard.view.last, 2U);
  EXPECT_EQ(shard.view.meta_at, 0);
}

TEST_F(ImportTest, EndsWhereTheStoreFailsOnceItLeads) {
  WriteTwo();
  OnceItLeads([this] { link.looked = kDenied; });
  EXPECT_EQ(Import().message(), "permission denied");
  EXPECT_EQ(shard.view.meta_at, 0);
  EXPECT_TRUE(shard.parts.empty());
  EXPECT_EQ(report, "");
}

// The look that would tell fails; what founded the shard was answered.
TEST_F(ImportTest, IsDoneWhenTheShardIsFounded) {
  WriteTwo();
  meanwhile = [this] {
    if (shard.view.meta_at != 0) link.looked = kDenied;
  };
  const Status status = Import();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(report.starts_with("imported 2 live jobs in ")) << report;
  EXPECT_TRUE(shard.view.leader.vacant);
}

// An earlier try of the same call has founded it, and its answer was lost.
TEST_F(ImportTest, IsDoneWhenAnEarlierTryHasFoundedTheShard) {
  WriteTwo();
  meanwhile = [this] {
    if (link.appends > 0 && shard.view.meta_at == 0) Found();
  };
  const Status status = Import();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(report.starts_with("imported 2 live jobs in ")) << report;
}

}  // namespace
}  // namespace gearstalk
