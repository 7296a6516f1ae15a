#include "broker/journal/wal/set_aside.h"

#include <algorithm>
#include <array>
#include <vector>

#include "broker/base/split.h"
#include "broker/base/stored_number.h"

namespace gearstalk {
namespace {

constexpr std::string_view kEnd = ".damaged";
constexpr std::size_t kSetAsideHeaderSize = kSegmentHeaderSize + 16;

}  // namespace

std::string SetAsideName(std::uint64_t id) { return std::to_string(id).append(kEnd); }

std::uint64_t SetAsideId(std::string_view name) {
  if (!name.ends_with(kEnd)) return 0;
  name.remove_suffix(kEnd.size());
  std::uint64_t id = 0;
  return ParseNumber(name, id) ? id : 0;
}

std::string EncodeSetAside(const SegmentHeader& header, std::uint64_t offset, std::uint32_t body,
                           std::string_view frame) {
  std::string bytes(kSetAsideHeaderSize, '\0');
  EncodeSegmentHeader(header, bytes.data());
  Store(bytes.data() + kSegmentHeaderSize, offset);
  Store(bytes.data() + kSegmentHeaderSize + 8, body);
  return bytes.append(frame);
}

std::optional<SetAside> DecodeSetAside(std::string_view bytes) {
  SetAside aside;
  if (bytes.size() < kSetAsideHeaderSize) return std::nullopt;
  if (!DecodeSegmentHeader(bytes.substr(0, kSegmentHeaderSize), aside.header).ok()) {
    return std::nullopt;
  }
  aside.offset = Load<std::uint64_t>(bytes, kSegmentHeaderSize);
  aside.body = Load<std::uint32_t>(bytes, kSegmentHeaderSize + 8);
  aside.frame = bytes.substr(kSetAsideHeaderSize);
  return aside;
}

int WriteSetAside(FileSystem& file_system, const std::string& directory, std::uint64_t id,
                  std::string_view bytes) {
  const std::string path = directory + "/" + SetAsideName(id);
  auto opened = file_system.Open(path, FileSystem::Mode::kCreate);
  int error = opened.error;
  if (error == 0) error = WriteFully(*opened.file, 0, bytes);
  if (error == 0) error = opened.file->Truncate(bytes.size());
  if (error == 0) error = opened.file->Sync();
  if (error == 0) error = SyncDirectory(file_system, directory);
  file_system.GiveToOwnerOf(directory, path);  // later starts may be another user's
  if (error != 0) file_system.Unlink(path);
  return error;
}

std::map<std::uint64_t, SetAsideFile> FindSetAside(FileSystem& file_system,
                                                   const std::string& directory) {
  std::map<std::uint64_t, SetAsideFile> found;
  std::vector<std::string> names;
  if (file_system.List(directory, names) != 0) return found;
  for (const std::string& name : names) {
    const std::uint64_t id = SetAsideId(name);
    if (id == 0) continue;
    std::array<char, kSetAsideHeaderSize> header{};
    std::int64_t got = 0;
    std::string path = directory;
    path.append("/").append(name);
    const auto opened = file_system.Open(path, FileSystem::Mode::kRead);
    if (opened.error == 0) got = ReadFully(*opened.file, 0, header.data(), header.size());
    const auto aside =
        DecodeSetAside({header.data(), static_cast<std::size_t>(std::max<std::int64_t>(got, 0))});
    const std::int64_t size = opened.error == 0 ? opened.file->Size() : 0;
    found[id] = {aside ? aside->body : 0,
                 static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0))};
  }
  return found;
}

}  // namespace gearstalk
