// The files of each released format version, committed in golden/vN, stay readable, and the same
// changes still make the bytes of the newest. Version 2 was written without an end and a state
// before it was with them; v2-groups has a record of each of its kinds, and v2-kinds those of
// before jobs had groups. GEARSTALK_WRITE_GOLDEN=1 writes those of the newest for the first time.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "broker/journal/wal/state_file.h"
#include "tests/journal/every_kind.h"
#include "tests/journal/rig.h"

namespace gearstalk {
namespace {

constexpr const char* kVersions[] = {"v1", "v2", "v2-ended"};
constexpr const char* kNewest = "v2-ended";
static_assert(kWalVersion == 2);

std::filesystem::path Golden(const char* version) {
  return std::filesystem::path(GEARSTALK_GOLDEN_DIR) / version;
}

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

using Files = std::map<std::string, std::string>;

// The segments and the state.
Files FilesOf(const FaultyFileSystem& disk) {
  Files files;
  for (const auto& [path, content] : disk.Image()) {
    const std::string name = path.substr(path.find_last_of('/') + 1);
    if (SegmentNumber(name) != 0 || name == kStateName) files[name] = content;
  }
  return files;
}

// Where golden files are to be written, they are.
void ExpectGolden(const char* version, const Files& files) {
  const std::filesystem::path golden = Golden(version);
  if (std::getenv("GEARSTALK_WRITE_GOLDEN") != nullptr && !std::filesystem::exists(golden)) {
    std::filesystem::create_directories(golden);
    for (const auto& [name, content] : files) {
      std::ofstream(golden / name, std::ios::binary) << content;
    }
  }
  for (const auto& [name, content] : files) {
    EXPECT_TRUE(Read(golden / name) == content) << name;
  }
}

void LoadGolden(const char* version, FaultyFileSystem& disk) {
  Files image;
  for (const auto& entry : std::filesystem::directory_iterator(Golden(version))) {
    image["/data/" + entry.path().filename().string()] = Read(entry.path());
  }
  disk.SetImage(image);
}

// Every state, and every field of version 1, in three segments and one prepared ahead.
void MakeChanges(Rig& rig) {
  Model& model = *rig.model;
  Journal& journal = *rig.journal;
  Model::Job job;
  job.tube = "mail";
  job.body = "hello";
  job.priority = 1024;
  job.ttr_s = 60;
  job.created = 1'700'000'000 * kSecond;
  job.keep_on_failure = true;
  model.Put(journal, job);
  job.tube = std::string("\x01\xFF name", 7);
  job.unique = "-";
  job.unique_is_body = true;
  job.keep_on_failure = false;
  job.reducer = "sum";
  job.body = std::string("\0\r\n\xFF", 4);
  model.Put(journal, job);
  job.unique = "key";
  job.unique_is_body = false;
  job.state = Record::State::kDelayed;
  job.delay_s = 3600;
  job.due = 1'700'003'600 * kSecond;
  job.counters = {1, 2, 3, 4, 5, 6};
  model.Put(journal, job);
  rig.Flush();
  model.Put(journal, "mail", "");
  model.Put(journal, "mail", "deleted");
  model.Delete(journal, 5);
  model.Release(journal, 1, 30, 1'700'000'030 * kSecond);
  model.Bury(journal, 4, 1);
  model.Set(journal, "mail", {true, {10, 20, 30}, 1'700'000'100 * kSecond, 100});
  model.TakeId(journal);
  rig.Flush();
  for (int i = 0; i < 12; ++i) {
    model.Put(journal, "mail", std::string(150, static_cast<char>('a' + i)));
    rig.Flush();
  }
}

class WalGolden : public testing::Test {
 protected:
  void SetUp() override {
    rig_.options.segment_size = 1024;
    rig_.options.salt = 0x5A17;
    ASSERT_TRUE(rig_.Start().ok());
    MakeChanges(rig_);
    ASSERT_TRUE(rig_.journal->Close().ok());
    rig_.journal.reset();
    made_ = rig_.model->state();
  }

  void ExpectReadable(const char* version) {
    LoadGolden(version, rig_.disk);
    const Status status = rig_.Start();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(rig_.model->state() == made_);
  }

  Rig rig_;
  Model::State made_;
};

TEST_F(WalGolden, EveryVersionIsReadable) {
  for (const char* version : kVersions) {
    SCOPED_TRACE(version);
    ExpectReadable(version);
  }
}

TEST_F(WalGolden, TheNewestVersionIsStillWrittenTheSame) {
  const Files files = FilesOf(rig_.disk);
  ASSERT_GE(files.size(), 3U);
  ExpectGolden(kNewest, files);
}

// Compares what is read with the records that were written; knows no job.
class Reader final : public LiveState {
 public:
  explicit Reader(std::vector<Record> wanted = {}) : wanted_(std::move(wanted)) {}

  Status Apply(const Record& record) override {
    if (read_ < wanted_.size()) ExpectSame(record, wanted_[read_]);
    ++read_;
    return {};
  }
  bool Capture(std::uint64_t, const std::function<void(const Record&)>&) override { return false; }
  void CaptureSettings(const std::function<void(const Record&)>&) override {}

  void ExpectAll() const { EXPECT_EQ(read_, wanted_.size()); }

 private:
  const std::vector<Record> wanted_;
  std::size_t read_ = 0;
};

Status StartOn(Rig& rig, LiveState& state) {
  auto opened = WalJournal::Open(rig.options);
  if (!opened.ok()) return opened.status();
  rig.journal = std::move(opened.value());
  return rig.journal->Start(state, rig.events);
}

void ExpectReadable(const char* golden, std::vector<Record> wanted) {
  Rig rig;
  LoadGolden(golden, rig.disk);
  Reader reader(std::move(wanted));
  const Status status = StartOn(rig, reader);
  ASSERT_TRUE(status.ok()) << status.message();
  reader.ExpectAll();
}

TEST(WalGoldenKinds, EachIsReadable) { ExpectReadable("v2-groups", EveryKind()); }

TEST(WalGoldenKinds, EachIsReadableOfBeforeGroups) {
  std::vector<Record> records = EveryKind();
  for (Record& record : records) record.group = record.home = {};
  ExpectReadable("v2-kinds", std::move(records));
}

TEST(WalGoldenKinds, EachIsStillWrittenTheSame) {
  Rig rig;
  rig.options.salt = 0x5A17;
  Reader nothing;
  ASSERT_TRUE(StartOn(rig, nothing).ok());
  std::vector<Record> records = EveryKind();
  ASSERT_EQ(records.back().kind, Record::Kind::kEnd);
  records.pop_back();  // a clean stop writes it
  for (const Record& record : records) rig.journal->Append(record);
  rig.Flush();
  ASSERT_TRUE(rig.journal->Close().ok());
  ExpectGolden("v2-groups", FilesOf(rig.disk));
}

}  // namespace
}  // namespace gearstalk
