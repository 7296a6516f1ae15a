#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "broker/journal/journal.h"
#include "broker/journal/wal/wal_journal.h"
#include "broker/replica/replica_tools.h"
#include "tests/replica/fake_store.h"
#include "tests/replica/parts.h"

namespace gearstalk {

inline const StoreResult kDenied{StoreAnswer::kFailed, {Code::kInvalid, "permission denied"}};

// What a broker would know after a replay.
class Contents final : public LiveState {
 public:
  std::map<std::uint64_t, std::string> jobs;  // their bodies
  std::set<std::uint64_t> buried, seen;       // jobs, and those that left keys
  std::set<std::string> tubes;                // that have settings
  std::uint64_t next_id = 1;

  Status Apply(const Record& record) override {
    if (record.kind == Record::Kind::kPut) jobs[record.id] = record.body;
    if (record.kind == Record::Kind::kDelete) jobs.erase(record.id);
    if (record.kind == Record::Kind::kSeen) seen.insert(record.id);
    if (record.kind == Record::Kind::kTube) tubes.emplace(record.tube);
    if (record.kind == Record::Kind::kChange) {
      EXPECT_TRUE(jobs.contains(record.id)) << "a change of " << record.id;
      if (record.state == Record::State::kBuried) buried.insert(record.id);
    }
    const bool names_next =
        record.kind == Record::Kind::kNextId || record.kind == Record::Kind::kEnd;
    next_id = std::max(next_id, names_next ? record.id : record.id + 1);
    return {};
  }
  bool Capture(std::uint64_t, const std::function<void(const Record&)>&) override { return false; }
  void CaptureSettings(const std::function<void(const Record&)>&) override {}
};

// A shard, a store that tools can wait for, and a folder.
class ToolsTest : public testing::Test {
 protected:
  ToolsTest() {
    char name[] = "/tmp/gearstalk-tools-XXXXXX";
    path_ = ::mkdtemp(name);
    link.notify_fd = ready_;
    link.tick = [this] {
      if (meanwhile) meanwhile();
      simulation.RunUntil(simulation.now + 20 * kMillisecond);
    };
  }
  ~ToolsTest() override {
    std::filesystem::remove_all(path_);
    ::close(ready_);
  }

  // --- The shard
  void Found() {
    shard.view.meta_at = shard.Begin();
    shard.view.meta = {kReplicaFormat, 0, "gearstalkd", "2026-01-02T03:04:05Z"};
  }
  void Lead(bool vacant) {
    shard.view.leader_at = shard.view.beat_at = shard.Begin();
    shard.view.leader = {.broker = "b1",
                         .address = "host:1",
                         .id = "1",
                         .attempt = 1,
                         .epoch = 3,
                         .lease = 2 * kSecond,
                         .vacant = vacant};
  }
  void Keep(LogPart part) {
    shard.view.tail_at = shard.Begin();
    shard.view.last = part.seq;
    shard.written[part.seq] = shard.view.at;
    shard.parts[part.seq] = std::move(part.bytes);
  }
  void KeepBatches(std::uint64_t count) {
    for (std::uint64_t id = 1; id <= count; ++id) Keep(maker.Batch({id}));
  }
  void KeepDelete(std::uint64_t id) {
    Record record;
    record.kind = Record::Kind::kDelete;
    record.id = id;
    Keep(maker.Part(FrameOf(record), 1, 0));
    ++maker.position;
  }

  // --- The folder
  std::string Folder(const std::string& name) const { return path_ + "/" + name; }
  std::set<std::string> Folders() const {
    std::set<std::string> names;
    for (const auto& each : std::filesystem::directory_iterator(path_)) {
      names.insert(each.path().filename());
    }
    return names;
  }
  static Result<std::unique_ptr<WalJournal>> OpenJournal(const std::string& directory) {
    WalOptions options;
    options.directory = directory;
    options.own_thread = false;
    options.compact = false;
    options.sync = Sync::kSystem;
    return WalJournal::Open(options);
  }
  static void WriteJournal(const std::string& directory, const std::vector<Record>& records) {
    std::filesystem::create_directory(directory);
    auto journal = OpenJournal(directory);
    ASSERT_TRUE(journal.ok()) << journal.status().message();
    Contents contents;
    NoEvents events;
    ASSERT_TRUE(journal.value()->Start(contents, events).ok());
    for (const Record& record : records) journal.value()->Append(record);
    journal.value()->Flush(0);
    ASSERT_TRUE(journal.value()->Close().ok());
  }
  static Contents ReadJournal(const std::string& directory) {
    Contents contents;
    auto journal = OpenJournal(directory);
    EXPECT_TRUE(journal.ok()) << journal.status().message();
    if (!journal.ok()) return contents;
    NoEvents events;
    const Status started = journal.value()->Start(contents, events);
    EXPECT_TRUE(started.ok()) << started.message();
    return contents;
  }

  Simulation simulation{1};
  FakeShard shard;
  FakeLink link;
  FakeStore store{simulation, shard, link};
  PartMaker maker;
  std::function<void()> meanwhile;  // before each turn of a tool that waits
  std::string report;

 private:
  const int ready_ = ::eventfd(1, EFD_CLOEXEC);
  std::string path_;
};

}  // namespace gearstalk
