// The calls of the operating system, on a real disk: what fails says why, and changes nothing.

#include "broker/journal/wal/file_system.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "broker/journal/journal.h"
#include "broker/journal/wal/wal_check.h"
#include "broker/journal/wal/wal_journal.h"
#include "broker/journal/wal/wal_salvage.h"
#include "tests/journal/model.h"

namespace gearstalk {
namespace {

using Mode = FileSystem::Mode;

class RealFiles : public testing::Test {
 protected:
  RealFiles() {
    char name[] = "/tmp/gearstalk-files-XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  ~RealFiles() override { std::filesystem::remove_all(directory_); }

  std::string In(const std::string& name) const { return directory_ + "/" + name; }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    EXPECT_EQ(disk_.List(directory_, names), 0);
    std::sort(names.begin(), names.end());
    return names;
  }

  FileSystem& disk_ = SystemFileSystem();
  std::string directory_;
};

TEST_F(RealFiles, AreWrittenReadCutAndRenamed) {
  const auto made = disk_.Open(In("a"), Mode::kCreate);
  ASSERT_EQ(made.error, 0);
  EXPECT_EQ(WriteFully(*made.file, 0, "some bytes"), 0);
  EXPECT_EQ(made.file->Sync(), 0);
  made.file->DropCache();
  EXPECT_EQ(made.file->Size(), 10);
  EXPECT_EQ(made.file->Truncate(4), 0);
  char bytes[20];
  EXPECT_EQ(ReadFully(*made.file, 1, bytes, sizeof bytes), 3);
  EXPECT_EQ(std::string(bytes, 3), "ome");
  EXPECT_EQ(disk_.Rename(In("a"), In("b")), 0);
  EXPECT_EQ(Names(), std::vector<std::string>{"b"});
  EXPECT_EQ(disk_.GiveToOwnerOf(directory_, In("b")), 0);
  EXPECT_EQ(SyncDirectory(disk_, directory_), 0);
  EXPECT_EQ(disk_.Unlink(In("b")), 0);
  EXPECT_EQ(Names(), std::vector<std::string>{});
}

TEST_F(RealFiles, WhatIsNotThereIsNamedSo) {
  std::vector<std::string> names = {"left"};
  EXPECT_EQ(disk_.Open(In("none"), Mode::kRead).error, -ENOENT);
  EXPECT_EQ(disk_.Open(In("none"), Mode::kWrite).error, -ENOENT);
  EXPECT_EQ(disk_.Rename(In("none"), In("b")), -ENOENT);
  EXPECT_EQ(disk_.Unlink(In("none")), -ENOENT);
  EXPECT_EQ(disk_.List(In("none"), names), -ENOENT);
  EXPECT_EQ(disk_.OpenDirectory(In("none")).error, -ENOENT);
  EXPECT_EQ(SyncDirectory(disk_, In("none")), -ENOENT);
  EXPECT_EQ(disk_.RemoveDirectory(In("none")), -ENOENT);
  EXPECT_EQ(disk_.SpaceOf(In("none")).free, UINT64_MAX) << "not known";
  EXPECT_EQ(disk_.SpaceOf(In("none")).total, 0U);
  EXPECT_FALSE(disk_.CopiesOnWrite(In("none")));
  EXPECT_EQ(Names(), std::vector<std::string>{});
}

TEST_F(RealFiles, DirectoriesAreMadeOnceAndRemovedWhenTheyAreEmpty) {
  EXPECT_EQ(disk_.MakeDirectory(In("d")), 0);
  EXPECT_EQ(disk_.MakeDirectory(In("d")), -EEXIST);
  ASSERT_EQ(disk_.Open(In("d/a"), Mode::kCreate).error, 0);
  EXPECT_EQ(disk_.RemoveDirectory(In("d")), -ENOTEMPTY);
  EXPECT_EQ(disk_.Unlink(In("d/a")), 0);
  EXPECT_EQ(disk_.RemoveDirectory(In("d")), 0);
  EXPECT_EQ(Names(), std::vector<std::string>{});
}

TEST_F(RealFiles, CallsThatTheSystemRefusesFail) {
  ASSERT_EQ(disk_.Open(In("a"), Mode::kCreate).error, 0);
  const auto read_only = disk_.Open(In("a"), Mode::kRead);
  ASSERT_EQ(read_only.error, 0);
  EXPECT_EQ(WriteFully(*read_only.file, 0, "bytes"), -EBADF);
  EXPECT_LT(read_only.file->Truncate(5), 0);
  EXPECT_LT(read_only.file->Allocate(5), 0);
  const auto directory = disk_.Open(directory_, Mode::kRead);
  ASSERT_EQ(directory.error, 0);
  char byte = 0;
  EXPECT_EQ(ReadFully(*directory.file, 0, &byte, 1), -EISDIR);
  EXPECT_EQ(read_only.file->Size(), 0);
}

TEST_F(RealFiles, AFileIsLockedByOne) {
  const auto one = disk_.Open(In("a"), Mode::kCreate);
  const auto other = disk_.Open(In("a"), Mode::kCreate);
  EXPECT_EQ(one.file->Lock(), 0);
  EXPECT_EQ(other.file->Lock(), -EWOULDBLOCK);
}

// All of it on the disk of this machine: bodies are read again, damage is found and left out.
TEST_F(RealFiles, AJournalIsCheckedAndSalvagedThere) {
  WalOptions options;
  options.directory = In("journal");
  options.own_thread = false;
  options.segment_size = 2048;
  NoEvents events;
  Model model;
  {
    const auto journal = std::move(WalJournal::Open(options).value());
    ASSERT_TRUE(journal->Start(model, events).ok());
    for (int i = 0; i < 40; ++i) model.Put(*journal, "t", std::string(100, 'b'));
    ASSERT_TRUE(journal->Close().ok());
  }
  const std::string path = In("journal/0000000002.wal");
  const auto opened = disk_.Open(path, Mode::kWrite);
  ASSERT_EQ(opened.error, 0);
  ASSERT_EQ(WriteFully(*opened.file, 600, "other bytes"), 0);
  std::string report;
  EXPECT_EQ(CheckJournal(disk_, In("journal"), report).code(), Code::kCorrupt);
  EXPECT_NE(report.find("damaged: " + path), std::string::npos) << report;
  ASSERT_TRUE(SalvageJournal(disk_, In("journal"), report, options.segment_size).ok());
  EXPECT_FALSE(std::filesystem::exists(In("journal/salvaged")));
  Model read;
  const auto journal = std::move(WalJournal::Open(options).value());
  ASSERT_TRUE(journal->Start(read, events).ok());
  EXPECT_GE(read.state().jobs.size(), 38U);
  for (const auto& [id, job] : read.state().jobs) EXPECT_EQ(job, model.state().jobs.at(id));
}

}  // namespace
}  // namespace gearstalk
