#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <string>

#include "broker/base/threads.h"
#include "broker/journal/wal/file_system.h"

namespace gearstalk {

// Writes the indexes of sealed segments, and removes those whose segments leave the log, on a
// thread of its own. What fails leaves a segment without an index, which is read whole at the next
// start. Public functions are for the loop's thread and take a short lock at most.
class Indexer {
 public:
  // The segments of the log are now those from `oldest` to `newest`: other indexes are removed.
  // Without a thread, Work works.
  Indexer(FileSystem& file_system, std::string directory, bool own_thread, std::uint64_t oldest,
          std::uint64_t newest);

  // The segment is sealed, and on disk.
  void Make(std::uint64_t segment);
  // Segments below leave the log.
  void Release(std::uint64_t oldest);
  void Work() { workers_.Work(); }

 private:
  bool HasWork() const;
  void DoOne(Workers::Lock& lock);
  bool TryWrite(std::uint64_t segment) const;
  bool Write(std::uint64_t segment) const;
  std::string PathOf(std::uint64_t segment) const;

  FileSystem& file_system_;
  const std::string directory_;

  std::mutex mutex_;  // guards what follows
  std::deque<std::uint64_t> queue_;
  std::set<std::uint64_t> made_;  // indexes that are there, perhaps
  std::uint64_t oldest_;

  Workers workers_;
};

}  // namespace gearstalk
