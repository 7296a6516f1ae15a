#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "broker/base/status.h"
#include "broker/journal/wal/file_system.h"
#include "broker/journal/wal/wal_format.h"

namespace gearstalk {

inline constexpr char kStateName[] = "state";

// nullopt: there is no state file, as in directories of format 1. kCorrupt: the message names the
// file; kInvalid: it names the unknown version.
Result<std::optional<JournalState>> ReadState(FileSystem& file_system,
                                              const std::string& directory);

// The state of a journal that is open. One thread at a time.
class StateFile {
 public:
  // `opened` is the directory, and outlives this.
  StateFile(FileSystem& file_system, const std::string& directory, Directory& opened);

  // The state is on disk when it returns no fault; after a fault the old one is. Needs no space if
  // there was a state already, and no descriptor after the first call.
  Fault Keep(const JournalState& state);

 private:
  Fault Replace(std::string_view bytes);
  Fault Overwrite(std::string_view bytes);

  FileSystem& file_system_;
  Directory& opened_;
  const std::string directory_, path_;
  std::unique_ptr<File> file_;  // of this name; nullptr: not opened yet
};

// Keep, for a directory that is not open.
Fault WriteState(FileSystem& file_system, const std::string& directory, const JournalState& state);

}  // namespace gearstalk
