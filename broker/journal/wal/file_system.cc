#include "broker/journal/wal/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "broker/base/descriptor.h"
#include "broker/base/owner.h"

namespace gearstalk {
namespace {

// Of btrfs, ZFS, bcachefs and NILFS; linux/magic.h has not all of them.
constexpr std::array<std::uint32_t, 4> kCopyOnWrite = {0x9123683E, 0x2FC12FC1, 0xCA451A4E, 0x3434};

int Outcome(int result) { return result == 0 ? 0 : -errno; }

// Repeats calls that a signal interrupted, as happens on slow file systems.
template <typename Call>
int Repeated(Call call) {
  int outcome = 0;
  do {
    outcome = Outcome(call());
  } while (outcome == -EINTR);
  return outcome;
}

class SystemFile final : public File {
 public:
  explicit SystemFile(int fd) : fd_(fd) {}

  std::int64_t Read(std::uint64_t offset, char* data, std::size_t size) override {
    const ssize_t got = ::pread(fd_, data, size, static_cast<off_t>(offset));
    return got < 0 ? -errno : got;
  }

  std::int64_t Write(std::uint64_t offset, std::string_view data) override {
    const ssize_t put = ::pwrite(fd_, data.data(), data.size(), static_cast<off_t>(offset));
    return put < 0 ? -errno : put;
  }

  int Sync() override {
    return Repeated([this] { return ::fdatasync(fd_); });
  }

  int Allocate(std::uint64_t size) override {
    return Repeated([this, size] { return ::fallocate(fd_, 0, 0, static_cast<off_t>(size)); });
  }

  int Truncate(std::uint64_t size) override {
    return Outcome(::ftruncate(fd_, static_cast<off_t>(size)));
  }

  std::int64_t Size() override {
    struct stat info {};
    return ::fstat(fd_, &info) != 0 ? -errno : info.st_size;
  }

  void DropCache() override { ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED); }

  int Lock() override { return Outcome(::flock(fd_, LOCK_EX | LOCK_NB)); }

 private:
  const Descriptor fd_;
};

class SystemDirectory final : public Directory {
 public:
  explicit SystemDirectory(int fd) : fd_(fd) {}

  int Sync() override {
    return Repeated([this] { return ::fsync(fd_); });
  }

 private:
  const Descriptor fd_;
};

class RealFileSystem final : public FileSystem {
 public:
  Opened Open(const std::string& path, Mode mode) override {
    int flags = O_CLOEXEC;
    if (mode == Mode::kRead) flags |= O_RDONLY;
    if (mode == Mode::kWrite) flags |= O_RDWR;
    if (mode == Mode::kCreate) flags |= O_RDWR | O_CREAT;
    const int fd = ::open(path.c_str(), flags, 0640);
    if (fd < 0) return {nullptr, -errno};
    return {std::make_unique<SystemFile>(fd), 0};
  }

  int Rename(const std::string& from, const std::string& to) override {
    return Outcome(::rename(from.c_str(), to.c_str()));
  }

  int Unlink(const std::string& path) override { return Outcome(::unlink(path.c_str())); }

  int List(const std::string& directory, std::vector<std::string>& names) override {
    names.clear();
    DIR* dir = ::opendir(directory.c_str());
    if (dir == nullptr) return -errno;
    errno = 0;
    while (const dirent* entry = ::readdir(dir)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    const int error = errno;
    ::closedir(dir);
    return -error;
  }

  int MakeDirectory(const std::string& path) override {
    return Outcome(::mkdir(path.c_str(), 0750));
  }

  int RemoveDirectory(const std::string& path) override { return Outcome(::rmdir(path.c_str())); }

  OpenedDirectory OpenDirectory(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return {nullptr, -errno};
    return {std::make_unique<SystemDirectory>(fd), 0};
  }

  Space SpaceOf(const std::string& directory) override {
    struct statvfs info {};
    if (::statvfs(directory.c_str(), &info) != 0) return {};
    return {.free = std::uint64_t{info.f_bavail} * info.f_frsize,
            .total = std::uint64_t{info.f_blocks} * info.f_frsize};
  }

  bool CopiesOnWrite(const std::string& directory) override {
    struct statfs info {};
    if (::statfs(directory.c_str(), &info) != 0) return false;
    const auto type = static_cast<std::uint32_t>(info.f_type);
    return std::find(kCopyOnWrite.begin(), kCopyOnWrite.end(), type) != kCopyOnWrite.end();
  }

  int GiveToOwnerOf(const std::string& directory, const std::string& path) override {
    return gearstalk::GiveToOwnerOf(directory, path);
  }

  Time Now() override {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * kSecond + now.tv_nsec;
  }
};

constexpr char kLockName[] = "lock";

Status InUse(const std::string& directory) {
  return {Code::kInvalid, directory + " is in use by another process"};
}

}  // namespace

FileSystem& SystemFileSystem() {
  static RealFileSystem file_system;
  return file_system;
}

int SyncDirectory(FileSystem& file_system, const std::string& path) {
  const auto opened = file_system.OpenDirectory(path);
  return opened.error != 0 ? opened.error : opened.directory->Sync();
}

Result<std::unique_ptr<File>> OpenFile(FileSystem& file_system, const std::string& path,
                                       FileSystem::Mode mode) {
  auto opened = file_system.Open(path, mode);
  if (opened.error != 0) return Fault{opened.error, "open", path}.ToStatus();
  return std::move(opened.file);
}

std::int64_t ReadFully(File& file, std::uint64_t offset, char* data, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const std::int64_t got = file.Read(offset + done, data + done, size - done);
    if (got == -EINTR) continue;
    if (got < 0) return got;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<std::int64_t>(done);
}

int WriteFully(File& file, std::uint64_t offset, std::string_view data) {
  while (!data.empty()) {
    const std::int64_t put = file.Write(offset, data);
    if (put == -EINTR) continue;
    if (put < 0) return static_cast<int>(put);
    if (put == 0) return -EIO;
    offset += static_cast<std::uint64_t>(put);
    data.remove_prefix(static_cast<std::size_t>(put));
  }
  return 0;
}

Result<std::unique_ptr<File>> LockDirectory(FileSystem& file_system, const std::string& directory) {
  const std::string path = directory + "/" + kLockName;
  auto file = GS_TRY(OpenFile(file_system, path, FileSystem::Mode::kCreate));
  const int error = file->Lock();
  if (error == 0) return file;
  if (error != -EWOULDBLOCK) return Fault{error, "flock", path}.ToStatus();
  return InUse(directory);
}

Result<std::unique_ptr<File>> LockForReading(FileSystem& file_system,
                                             const std::string& directory) {
  auto opened = file_system.Open(directory + "/" + kLockName, FileSystem::Mode::kRead);
  if (opened.error != 0) return std::unique_ptr<File>();
  const int error = opened.file->Lock();
  if (error == -EWOULDBLOCK) return InUse(directory);
  return std::move(opened.file);
}

}  // namespace gearstalk
