#include "broker/journal/wal/state_file.h"

#include <array>
#include <cerrno>
#include <utility>

namespace gearstalk {
namespace {

Fault WriteAndSync(File& file, const std::string& path, std::string_view bytes) {
  if (const int error = WriteFully(file, 0, bytes)) return {error, "pwrite", path};
  if (const int error = file.Sync()) return {error, "fdatasync", path};
  return {};
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

StateFile::StateFile(FileSystem& file_system, const std::string& directory, Directory& opened)
    : file_system_(file_system),
      opened_(opened),
      directory_(directory),
      path_(directory + "/" + kStateName) {}

Fault StateFile::Keep(const JournalState& state) {
  std::array<char, kStateSize> bytes{};
  EncodeState(state, bytes.data());
  const std::string_view content(bytes.data(), bytes.size());
  Fault fault = Replace(content);
  if (!fault.no_space() && !fault.no_descriptor()) return fault;
  Fault again = Overwrite(content);
  return again.error == -ENOENT ? fault : again;
}

Fault StateFile::Replace(std::string_view bytes) {
  const std::string next = path_ + ".tmp";
  auto opened = file_system_.Open(next, FileSystem::Mode::kCreate);
  if (opened.error != 0) return {opened.error, "open", next};
  if (Fault fault = WriteAndSync(*opened.file, next, bytes)) {
    if (fault.no_space()) file_system_.Unlink(next);
    return fault;
  }
  if (const int error = file_system_.Rename(next, path_)) return {error, "rename", next};
  file_ = std::move(opened.file);
  return {opened_.Sync(), "fsync", directory_};
}

// The state fits into one sector, which reaches the disk whole or not at all.
Fault StateFile::Overwrite(std::string_view bytes) {
  if (file_ == nullptr) {
    auto opened = file_system_.Open(path_, FileSystem::Mode::kWrite);
    if (opened.error != 0) return {opened.error, "open", path_};
    file_ = std::move(opened.file);
  }
  return WriteAndSync(*file_, path_, bytes);
}

Fault WriteState(FileSystem& file_system, const std::string& directory, const JournalState& state) {
  const auto opened = file_system.OpenDirectory(directory);
  if (opened.error != 0) return {opened.error, "open", directory};
  return StateFile(file_system, directory, *opened.directory).Keep(state);
}

}  // namespace gearstalk
