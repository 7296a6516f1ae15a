#include "admin/move/new_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace gearstalk::ctl {
namespace {

TEST(NewFile, SaysWhatAKilledCommandHasLeft) {
  const std::string path = ::testing::TempDir() + "gs-new-file";
  const std::string beside = path + ".new-" + std::to_string(::getpid());
  std::ofstream(beside) << "half";
  NewFile file(path);
  EXPECT_FALSE(file.open());
  EXPECT_EQ(file.problem(), beside + " is there: a command that was killed has left it; remove it");
  EXPECT_TRUE(std::filesystem::remove(beside));
}

TEST(NewFile, NamesTheProblem) {
  const std::string path = ::testing::TempDir() + "gs-no-directory/file";
  EXPECT_EQ(NewFile(path).problem(), path + ": No such file or directory");
}

}  // namespace
}  // namespace gearstalk::ctl
