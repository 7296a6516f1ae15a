#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/clock.h"

namespace gearstalk {

// What the journal asks of the operating system, call by call: the seam where tests put a file
// system that fails, tears writes and forgets what was not synced.
//
// Results are 0 (or a count) on success and -errno on failure, as of the system calls beneath.
class File {
 public:
  virtual ~File() = default;  // closes it

  // Both may do less than asked for, as pread and pwrite may. Read returns 0 at the end of file.
  virtual std::int64_t Read(std::uint64_t offset, char* data, std::size_t size) = 0;
  virtual std::int64_t Write(std::uint64_t offset, std::string_view data) = 0;

  // Content and size are on disk when it returns 0; after a failure nobody knows.
  virtual int Sync() = 0;
  // Reserves blocks for [0, size). -EOPNOTSUPP where the file system cannot.
  virtual int Allocate(std::uint64_t size) = 0;
  virtual int Truncate(std::uint64_t size) = 0;
  virtual std::int64_t Size() = 0;
  // Of this process alone, until the file is closed. -EWOULDBLOCK when somebody else has it.
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
  // What a file can still take; UINT64_MAX: not known.
  virtual std::uint64_t FreeBytes(const std::string& directory) = 0;
  // Writes to blocks that a file has take new ones there: they need space, too.
  virtual bool CopiesOnWrite(const std::string& directory) = 0;
  // `path` belongs to whom `directory` belongs, if this process may give it away.
  virtual int GiveToOwnerOf(const std::string& directory, const std::string& path) = 0;
  // A steady clock, in nanoseconds, for durations.
  virtual Time Now() = 0;
};

// The real one. It has no state; everybody may share it.
FileSystem& SystemFileSystem();

// Opens the directory for one sync. 0 or -errno.
int SyncDirectory(FileSystem& file_system, const std::string& path);

// Repeats until all is done. 0 or -errno; ReadFully returns what there was up to the end of file.
std::int64_t ReadFully(File& file, std::uint64_t offset, char* data, std::size_t size);
int WriteFully(File& file, std::uint64_t offset, std::string_view data);

}  // namespace gearstalk
