#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/status.h"
#include "broker/base/threads.h"
#include "broker/journal/wal/file_system.h"
#include "broker/journal/wal/wal_recovery.h"

namespace gearstalk {

// Reads sealed segments slowly and finds what is damaged in them, on a thread of its own: a start
// that takes records from indexes has not read their bodies. Public functions are for the loop's
// thread and take a short lock at most.
class Verifier {
 public:
  struct Damage {
    std::uint64_t segment = 0;
    std::uint64_t offset = 0;  // of bytes that are neither records nor marks
    std::uint64_t end = 0;     // behind them; 0: the segment could not be read
    std::string problem;       // names file and offset
  };

  // `notify` is called on the thread when there is news. Without a thread, Work reads all.
  Verifier(FileSystem& file_system, std::string directory, bool own_thread,
           std::function<void()> notify);

  // Bytes a second; 0: it reads nothing.
  void SetPace(std::uint64_t bytes);
  // The disk answers nothing but errors: it reads no further segment.
  void Pause(bool pause);
  // Reads these segments, oldest first.
  void Begin(std::uint64_t oldest, std::uint64_t newest);
  // Segments below leave the log.
  void Release(std::uint64_t oldest);
  // What was found since the last call.
  std::vector<Damage> Take();
  struct Progress {
    std::uint64_t bytes = 0;  // read by this process
    std::uint64_t next = 0;   // the segment that comes next; above the newest: none does
  };
  Progress progress() const;
  void Work() { workers_.Work(); }

 private:
  bool MayRead() const { return pace_ > 0 && !pause_ && next_ <= newest_; }
  void CheckNext(Workers::Lock& lock);
  Result<std::vector<Damage>> Check(std::uint64_t number, Workers::Lock& lock);
  void Rest(std::size_t bytes, Workers::Lock& lock);
  static constexpr double kWithoutMemory = 1;  // seconds until the next try
  static std::vector<Damage> DamageIn(std::string_view bytes, const FoundSegment& segment);

  FileSystem& file_system_;
  const std::string directory_;
  const bool own_thread_;
  const std::function<void()> notify_;

  mutable std::mutex mutex_;  // guards what follows
  std::uint64_t pace_ = 0;
  bool pause_ = false;
  std::uint64_t next_ = 1, newest_ = 0;  // segments to read
  std::vector<Damage> found_;
  std::uint64_t bytes_ = 0;

  Workers workers_;
};

}  // namespace gearstalk
