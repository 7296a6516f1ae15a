// backup and restore: a verified copy of a data directory, also of one that a broker uses.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "admin/ctl/command.h"
#include "admin/ctl/move_commands.h"
#include "broker/base/status.h"
#include "broker/journal/wal/file_system.h"
#include "broker/journal/wal/set_aside.h"
#include "broker/journal/wal/state_file.h"
#include "broker/journal/wal/wal_check.h"
#include "broker/journal/wal/wal_format.h"

namespace gearstalk::ctl {
namespace {

namespace fs = std::filesystem;

constexpr char kDataDir[] = "/var/lib/gearstalkd";
constexpr int kTries = 10;

// Of a call of the file system: 0, or a negative error.
Status Outcome(const std::string& path, int error) {
  if (error == 0) return {};
  return {Code::kIo, path + ": " + std::generic_category().message(-error)};
}

// kNotFound: the broker has removed it.
Status CopyFile(const fs::path& from, const fs::path& to, std::uint64_t& bytes) {
  FileSystem& files = SystemFileSystem();
  const auto source = files.Open(from, FileSystem::Mode::kRead);
  if (source.error == -ENOENT) return {Code::kNotFound, from.string() + " is gone"};
  if (source.file == nullptr) return Outcome(from, source.error);
  const auto target = files.Open(to, FileSystem::Mode::kCreate);
  if (target.file == nullptr) return Outcome(to, target.error);
  std::string block(1 << 20, '\0');
  std::uint64_t offset = 0;
  for (;;) {
    const std::int64_t got = ReadFully(*source.file, offset, block.data(), block.size());
    if (got < 0) return Outcome(from, static_cast<int>(got));
    if (got == 0) break;
    const std::string_view read(block.data(), static_cast<std::size_t>(got));
    GS_TRY(Outcome(to, WriteFully(*target.file, offset, read)));
    offset += read.size();
  }
  bytes += offset;
  return Outcome(to, target.file->Sync());
}

// The journal's files in the order in which they are copied: the state first, since it says how far
// the log has been at least. Then the newest segment, so that the log ends in it or in the one
// before, whole, even if the broker goes on to it meanwhile; then the others from the oldest one.
Result<std::vector<std::string>> JournalFiles(const std::string& directory) {
  std::vector<std::string> names;
  GS_TRY(Outcome(directory, SystemFileSystem().List(directory, names)));
  std::erase_if(names, [](const std::string& name) {
    return name != kStateName && SegmentNumber(name) == 0 && SetAsideId(name) == 0;
  });
  const auto rank = [](const std::string& name) {
    return std::pair(name == kStateName ? 0 : 1, SegmentNumber(name));
  };
  std::ranges::sort(names, {}, rank);
  const auto oldest =
      std::ranges::find_if(names, [](const std::string& name) { return SegmentNumber(name) != 0; });
  if (oldest == names.end()) return Status(Code::kInvalid, directory + ": there is no journal");
  std::rotate(oldest, names.end() - 1, names.end());
  return names;
}

struct Copied {
  std::size_t files = 0;
  std::uint64_t bytes = 0;
};

// kNotFound: the broker has removed a segment meanwhile.
Status CopyJournal(const std::string& from, const std::string& to, Copied& copied) {
  copied = {};
  const std::vector<std::string> names = GS_TRY(JournalFiles(from));
  for (const std::string& name : names) {
    Status status = CopyFile(fs::path(from) / name, fs::path(to) / name, copied.bytes);
    // A job that was set aside is finished: its file is no part of the journal any more.
    if (status.code() == Code::kNotFound && SetAsideId(name) != 0) continue;
    if (!status.ok()) return status;
    ++copied.files;
  }
  return Outcome(to, SyncDirectory(SystemFileSystem(), to));
}

// Reads all of it, as a start would. A journal of another format is no wrong call.
Status Verify(const std::string& directory) {
  std::string report;
  Status status = CheckJournal(SystemFileSystem(), directory, report);
  if (status.code() == Code::kInvalid) return {Code::kIo, status.message()};
  return status;
}

Status MakeDirectory(const std::string& directory) {
  std::error_code error;
  if (!fs::create_directory(directory, error)) {
    return {Code::kIo, directory + ": " + (error ? error.message() : "exists")};
  }
  fs::permissions(directory, fs::perms::owner_all, error);
  return {};
}

void Tell(const Copied& copied, const std::string& to) {
  fmt::print("{}: {} files, {} bytes, verified\n", to, copied.files, copied.bytes);
}

// --- backup

struct BackupOptions {
  std::string to, data_dir = kDataDir;

  Parameters AsParameters() {
    return {{"DIR", &to, "Directory to make; it must not exist", kRequired},
            {"--data-dir", &data_dir, "Data directory of the broker on this machine"}};
  }
};

// The copy has another name until it is whole.
Status Backup(BackupOptions& options) {
  const fs::path to = fs::path(options.to).lexically_normal();
  const std::string name = (to.has_filename() ? to : to.parent_path()).string();
  std::error_code error;
  if (fs::exists(name, error)) return {Code::kInvalid, name + ": exists"};
  const std::string part = fmt::format("{}.part-{}", name, getpid());
  Copied copied;
  Status status;
  for (int tries = 0; tries < kTries; ++tries) {
    if (tries > 0) fs::remove_all(part, error);
    if (status = MakeDirectory(part); !status.ok()) return status;
    status = CopyJournal(options.data_dir, part, copied);
    if (status.ok()) status = Verify(part);
    if (status.code() != Code::kNotFound && status.code() != Code::kCorrupt) break;
  }
  if (status.ok()) fs::rename(part, name, error);
  if (error) status = {Code::kIo, name + ": " + error.message()};
  if (!status.ok()) {
    fs::remove_all(part, error);
    return status;
  }
  const fs::path parent = fs::absolute(name).parent_path();
  GS_TRY(Outcome(parent, SyncDirectory(SystemFileSystem(), parent)));
  Tell(copied, name);
  return {};
}

// --- restore

struct RestoreOptions {
  std::string from, data_dir = kDataDir;

  Parameters AsParameters() {
    return {{"DIR", &from, "Directory that `backup` made", kRequired},
            {"--data-dir", &data_dir, "Data directory of the stopped broker; without a journal"}};
  }
};

Status CopyLocked(const RestoreOptions& options, Copied& copied) {
  FileSystem& files = SystemFileSystem();
  const auto lock = LockDirectory(files, options.data_dir);
  if (!lock.ok()) return {Code::kInUse, lock.status().message()};
  if (JournalFiles(options.data_dir).ok()) {
    return {Code::kInvalid, options.data_dir + ": has a journal; move its files away first"};
  }
  GS_TRY(CopyJournal(options.from, options.data_dir, copied));
  std::vector<std::string> names;
  files.List(options.data_dir, names);
  for (const std::string& name : names) {
    const std::string path = fs::path(options.data_dir) / name;
    GS_TRY(Outcome(path, files.GiveToOwnerOf(options.data_dir, path)));
  }
  return {};
}

Status Restore(RestoreOptions& options) {
  GS_TRY(JournalFiles(options.from));
  GS_TRY(Verify(options.from));
  const int made = SystemFileSystem().MakeDirectory(options.data_dir);
  if (made != -EEXIST) GS_TRY(Outcome(options.data_dir, made));
  Copied copied;
  GS_TRY(CopyLocked(options, copied));
  GS_TRY(Verify(options.data_dir));
  Tell(copied, options.data_dir);
  return {};
}

}  // namespace

Command BackupCommand() {
  return {"backup", "Copy the data directory of a broker, also while it runs",
          "gearstalkctl backup /backup/monday", BindMove(Backup)};
}

Command RestoreCommand() {
  return {"restore", "Put a backup into the data directory of a stopped broker",
          "gearstalkctl restore /backup/monday --data-dir /var/lib/gearstalkd", BindMove(Restore)};
}

}  // namespace gearstalk::ctl
