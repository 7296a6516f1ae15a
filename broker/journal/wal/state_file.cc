#include "broker/journal/wal/state_file.h"

#include <array>
#include <cerrno>
#include <string_view>

namespace gearstalk {
namespace {

Fault WriteAndSync(File& file, const std::string& path, std::string_view bytes) {
  if (const int error = WriteFully(file, 0, bytes)) return {error, "pwrite", path};
  if (const int error = file.Sync()) return {error, "fdatasync", path};
  return {};
}

Fault WriteNew(FileSystem& file_system, const std::string& path, std::string_view bytes) {
  const auto opened = file_system.Open(path, FileSystem::Mode::kCreate);
  if (opened.error != 0) return {opened.error, "open", path};
  return WriteAndSync(*opened.file, path, bytes);
}

Fault Replace(FileSystem& file_system, const std::string& directory, const std::string& path,
              std::string_view bytes) {
  const std::string next = path + ".tmp";
  if (const Fault fault = WriteNew(file_system, next, bytes)) {
    if (fault.no_space()) file_system.Unlink(next);
    return fault;
  }
  if (const int error = file_system.Rename(next, path)) return {error, "rename", next};
  if (const int error = file_system.SyncDirectory(directory)) return {error, "fsync", directory};
  return {};
}

// All of it is within one sector, which comes to the disk whole or not at all.
Fault Overwrite(FileSystem& file_system, const std::string& path, std::string_view bytes) {
  const auto opened = file_system.Open(path, FileSystem::Mode::kWrite);
  if (opened.error != 0) return {opened.error, "open", path};
  return WriteAndSync(*opened.file, path, bytes);
}

}  // namespace

Result<std::optional<JournalState>> ReadState(FileSystem& file_system,
                                              const std::string& directory) {
  const std::string path = directory + "/" + kStateName;
  const auto opened = file_system.Open(path, FileSystem::Mode::kRead);
  if (opened.error == -ENOENT) return std::optional<JournalState>();
  if (opened.error != 0) return Fault{opened.error, "open", path}.ToStatus();
  std::array<char, kStateSize + 1> bytes{};
  const std::int64_t got = ReadFully(*opened.file, 0, bytes.data(), bytes.size());
  if (got < 0) return Fault{static_cast<int>(got), "read", path}.ToStatus();
  JournalState state;
  const Status status = DecodeState({bytes.data(), static_cast<std::size_t>(got)}, state);
  if (status.ok()) return std::optional<JournalState>(state);
  if (status.code() == Code::kInvalid)
    return Status(Code::kInvalid, path + " is of " + status.message());
  return Status(Code::kCorrupt, path + " at offset 0: " + status.message());
}

Fault WriteState(FileSystem& file_system, const std::string& directory, const JournalState& state) {
  std::array<char, kStateSize> bytes{};
  EncodeState(state, bytes.data());
  const std::string_view content(bytes.data(), bytes.size());
  const std::string path = directory + "/" + kStateName;
  const Fault fault = Replace(file_system, directory, path, content);
  if (!fault.no_space()) return fault;
  const Fault again = Overwrite(file_system, path, content);
  return again.error == -ENOENT ? fault : again;
}

}  // namespace gearstalk
