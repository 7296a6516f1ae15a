#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "broker/journal/wal/file_system.h"
#include "broker/journal/wal/wal_format.h"

namespace gearstalk {

// Damaged frames of live jobs, each in a file of its own beside the segments: so no segment has to
// stay for one, and its bytes get no new checksum. The job's record is carried forward without a
// body. docs/journal-format.md has the file.

// 17 -> "17.damaged" and back; 0: not such a name.
std::string SetAsideName(std::uint64_t id);
std::uint64_t SetAsideId(std::string_view name);

// `frame` lay at `offset` in the segment of this header; the body in it has `body` bytes.
std::string EncodeSetAside(const SegmentHeader& header, std::uint64_t offset, std::uint32_t body,
                           std::string_view frame);
struct SetAside {
  SegmentHeader header;
  std::uint64_t offset = 0;
  std::uint32_t body = 0;
  std::string_view frame;
};
std::optional<SetAside> DecodeSetAside(std::string_view bytes);

// The file is on disk when it returns 0; else -errno, and there is none.
int WriteSetAside(FileSystem& file_system, const std::string& directory, std::uint64_t id,
                  std::string_view bytes);
struct SetAsideFile {
  std::uint32_t body = 0;   // bytes; 0: the file cannot be read
  std::uint64_t bytes = 0;  // of the file
};
// Those of a directory, by the id of the job.
std::map<std::uint64_t, SetAsideFile> FindSetAside(FileSystem& file_system,
                                                   const std::string& directory);

}  // namespace gearstalk
