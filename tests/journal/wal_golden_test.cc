// The files of each released format version, committed in golden/vN, stay readable, and the same
// changes still make the bytes of the newest. Version 2 was written without an end and a state
// before it was with them. GEARSTALK_WRITE_GOLDEN=1 writes those of the newest for the first time.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "broker/journal/wal/state_file.h"
#include "tests/journal/rig.h"

namespace gearstalk {
namespace {

constexpr const char* kVersions[] = {"v1", "v2", "v2-ended"};
constexpr const char* kNewest = "v2-ended";
static_assert(kWalVersion == 2);

std::filesystem::path Golden(const char* version) {
  return std::filesystem::path(GEARSTALK_GOLDEN_DIR) / version;
}

// Every kind of record, every state, every field, in three segments and one prepared ahead.
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

std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
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
    for (const auto& [path, content] : rig_.disk.Image()) {
      const std::string name = path.substr(path.find_last_of('/') + 1);
      if (SegmentNumber(name) != 0 || name == kStateName) files_[name] = content;
    }
    if (std::getenv("GEARSTALK_WRITE_GOLDEN") != nullptr) Write();
  }

  void Write() {
    const std::filesystem::path golden = Golden(kNewest);
    ASSERT_FALSE(std::filesystem::exists(golden)) << "released formats do not change";
    std::filesystem::create_directories(golden);
    for (const auto& [name, content] : files_) {
      std::ofstream(golden / name, std::ios::binary) << content;
    }
  }

  void ExpectReadable(const char* version) {
    std::map<std::string, std::string> image;
    for (const auto& entry : std::filesystem::directory_iterator(Golden(version))) {
      image["/data/" + entry.path().filename().string()] = Read(entry.path());
    }
    ASSERT_GE(image.size(), 3U);
    rig_.disk.SetImage(image);
    const Status status = rig_.Start();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(rig_.model->state() == made_);
  }

  Rig rig_;
  Model::State made_;
  std::map<std::string, std::string> files_;
};

TEST_F(WalGolden, EveryVersionIsReadable) {
  for (const char* version : kVersions) {
    SCOPED_TRACE(version);
    ExpectReadable(version);
  }
}

TEST_F(WalGolden, TheNewestVersionIsStillWrittenTheSame) {
  ASSERT_GE(files_.size(), 3U);
  for (const auto& [name, content] : files_) {
    EXPECT_TRUE(Read(Golden(kNewest) / name) == content) << name;
  }
}

}  // namespace
}  // namespace gearstalk
