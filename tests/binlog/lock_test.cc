#include "broker/binlog/lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "broker/binlog/directory.h"

namespace gearstalk::binlog {
namespace {

class LockTest : public testing::Test {
 protected:
  LockTest() {
    std::string path = testing::TempDir() + "binlog-XXXXXX";
    directory_ = mkdtemp(path.data());
  }
  ~LockTest() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
};

// Another process with a write lock, as beanstalkd has.
pid_t LockElsewhere(const std::string& path) {
  int ready[2];
  EXPECT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT, 0600);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    const bool held = fcntl(fd, F_SETLK, &lock) == 0;
    if (!held || write(ready[1], "x", 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  close(ready[1]);
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  return child;
}

TEST_F(LockTest, NamesTheProcessThatHasTheDirectory) {
  const pid_t other = LockElsewhere(directory_ + "/lock");
  const Result<Lock> held = Lock::Hold(directory_);
  ASSERT_FALSE(held.ok());
  EXPECT_EQ(held.status().code(), Code::kInUse);
  EXPECT_EQ(held.status().message(),
            "beanstalkd, pid " + std::to_string(other) + ", uses " + directory_);
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  EXPECT_TRUE(Lock::Hold(directory_).ok());
}

TEST_F(LockTest, ADirectoryThatIsMissingIsNobodys) {
  EXPECT_TRUE(Lock::Hold(directory_ + "/missing").ok());
}

TEST_F(LockTest, RetiredFilesAreMoved) {
  const int fd = open((directory_ + "/binlog.1").c_str(), O_RDWR | O_CREAT, 0600);
  close(fd);
  ASSERT_TRUE(Retire(directory_).ok());
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/imported-binlog/binlog.1"));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/binlog.1"));
}

}  // namespace
}  // namespace gearstalk::binlog
