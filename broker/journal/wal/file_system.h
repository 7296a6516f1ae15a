#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/status.h"

namespace gearstalk {

// The result of a call of the file system; true if it failed.
struct Fault {
  int error = 0;  // -errno
  const char* call = "";
  std::string path;

  explicit operator bool() const { return error != 0; }
  // There was no space, and nothing else happened: the same call may be tried again. A failed sync
  // is never such a case: what is on disk then is not known.
  bool no_space() const {
    const bool full = error == -ENOSPC || error == -EDQUOT;
    return full && !std::string_view(call).ends_with("sync");
  }
  // No descriptor was left, and nothing happened. Only opening a file fails so.
  bool no_descriptor() const { return error == -EMFILE || error == -ENFILE; }
  // The disk is all right: the same call may be tried again.
  bool passes() const { return no_space() || no_descriptor() || no_memory(); }
  bool no_memory() const { return error == -ENOMEM && !std::string_view(call).ends_with("sync"); }
  Status ToStatus() const {
    if (error == 0) return {};
    return {Code::kIo, std::string(call) + " " + path + ": " + std::strerror(-error)};
  }
};

// The calls of the operating system that the journal makes. Tests replace it by a file system that
// fails, tears writes and forgets what was not synced.
//
// Results are 0 (or a count) on success and -errno on failure, as those of the system calls.
class File {
 public:
  virtual ~File() = default;  // closes it

  // Both may do less than asked, as pread and pwrite. Read returns 0 at the end of file.
  virtual std::int64_t Read(std::uint64_t offset, char* data, std::size_t size) = 0;
  virtual std::int64_t Write(std::uint64_t offset, std::string_view data) = 0;

  // Content and size are on disk when it returns 0; after a failure that is not known.
  virtual int Sync() = 0;
  // Reserves blocks for [0, size). -EOPNOTSUPP where the file system cannot.
  virtual int Allocate(std::uint64_t size) = 0;
  virtual int Truncate(std::uint64_t size) = 0;
  virtual std::int64_t Size() = 0;
  // The system need not keep its content in memory.
  virtual void DropCache() {}
  // Locks the file for this process until it is closed. -EWOULDBLOCK: another process has it.
  virtual int Lock() = 0;
};

// An open directory.
class Directory {
 public:
  virtual ~Directory() = default;  // closes it

  // Creations, renames and removals in it are on disk when it returns 0.
  virtual int Sync() = 0;
};

class FileSystem {
 public:
  enum class Mode { kRead, kWrite, kCreate };  // kWrite and kCreate also read
  struct Opened {
    std::unique_ptr<File> file;  // nullptr on failure
    int error = 0;               // -errno
  };
  // Of a file system, in bytes.
  struct Space {
    std::uint64_t free = UINT64_MAX;  // for files of this process; UINT64_MAX: not known
    std::uint64_t total = 0;          // 0: not known
  };
  struct OpenedDirectory {
    std::unique_ptr<Directory> directory;  // nullptr on failure
    int error = 0;                         // -errno
  };

  virtual ~FileSystem() = default;
  virtual Opened Open(const std::string& path, Mode mode) = 0;
  virtual int Rename(const std::string& from, const std::string& to) = 0;
  virtual int Unlink(const std::string& path) = 0;
  // Names in the directory, in no order; without "." and "..".
  virtual int List(const std::string& directory, std::vector<std::string>& names) = 0;
  virtual int MakeDirectory(const std::string& path) = 0;  // -EEXIST when it is there
  virtual int RemoveDirectory(const std::string& path) = 0;
  virtual OpenedDirectory OpenDirectory(const std::string& path) = 0;
  virtual Space SpaceOf(const std::string& directory) = 0;
  // Whether overwriting needs space, too: a copy-on-write file system.
  virtual bool CopiesOnWrite(const std::string& directory) = 0;
  // Gives `path` the owner of `directory`, if this process may do that.
  virtual int GiveToOwnerOf(const std::string& directory, const std::string& path) = 0;
  // A steady clock, in nanoseconds, for durations.
  virtual Time Now() = 0;
};

// The real file system. It has no state.
FileSystem& SystemFileSystem();

// Opens the directory for one sync. 0 or -errno.
int SyncDirectory(FileSystem& file_system, const std::string& path);

// The file, or why it cannot be opened.
Result<std::unique_ptr<File>> OpenFile(FileSystem& file_system, const std::string& path,
                                       FileSystem::Mode mode);

// Repeats until all is done. 0 or -errno; ReadFully returns what there was up to the end of file.
std::int64_t ReadFully(File& file, std::uint64_t offset, char* data, std::size_t size);
int WriteFully(File& file, std::uint64_t offset, std::string_view data);

// Locks the directory while the file is open. kInvalid if another process has locked it.
Result<std::unique_ptr<File>> LockDirectory(FileSystem& file_system, const std::string& directory);

// The same for readers, who create no file: nullptr if there is no lock file, or it cannot be
// locked.
Result<std::unique_ptr<File>> LockForReading(FileSystem& file_system, const std::string& directory);

}  // namespace gearstalk
