#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/base/threads.h"
#include "broker/journal/journal.h"
#include "broker/journal/live_jobs.h"
#include "broker/journal/record_codec.h"
#include "broker/journal/wal/file_system.h"
#include "broker/journal/wal/wal_format.h"

namespace gearstalk {

// Reads bodies out of the segments, on threads of its own. Requests of one use are read in the
// order of the disk, neighbours together; the most urgent use goes first. A body is handed out only
// from a frame whose checksum is right and which names its job; a damaged one that is to be carried
// forward is set aside. Public functions are for the loop's thread and take a short lock at most.
//
// A frame that cannot be read is damaged if a neighbour can: the next frame of its segment, or one
// of another segment. After eight failures in a row, the last of another segment, the disk is taken
// for dead: all requests fail at once but for two tries a second, until one reads something.
class BodyReader {
 public:
  struct Request {
    std::uint64_t id = 0;
    BodyUse use = BodyUse::kReply;
    LiveJobs::Place place;
    Time asked = 0;          // by the file system's clock
    std::uint32_t body = 0;  // kCarry: its bytes
  };
  struct Answer {
    Request request;
    BodyRead::Result result = BodyRead::Result::kFailed;
    std::string_view body;  // in `bytes`
    std::shared_ptr<const char[]> bytes;
    std::string problem;
    bool unreadable = false;    // the disk fails there, and not for a passing reason
    bool set_aside = false;     // the frame lies in a file of its own
    std::string to_set_aside;   // the bytes of that file, which is to be made
    std::uint64_t written = 0;  // of it
  };

  // The threads begin with the first request; while the system gives none, Ask reads. If none are
  // wanted, Work reads. `notify` is called on any thread when there are answers.
  BodyReader(FileSystem& file_system, std::string directory, int threads,
             std::function<void()> notify);

  void Ask(const Request& request);
  // Answers of about `bytes` bytes; those that are left are notified again.
  std::vector<Answer> Take(std::size_t bytes);
  // The oldest segment with a request that is not answered yet: its file has to stay. UINT64_MAX:
  // there is none.
  std::uint64_t oldest() const { return asked_.empty() ? UINT64_MAX : asked_.begin()->first; }
  // The files of segments below are about to go.
  void Forget(std::uint64_t oldest);
  // Whether the disk answers nothing but errors, and was tried lately.
  bool DiskIsDead() const;
  // Reads all that is asked for.
  void Work() { workers_.Work(); }

 private:
  // A segment's file, open while somebody reads it or it was read lately.
  struct Source {
    std::uint64_t number = 0;
    std::string path;
    std::unique_ptr<File> file;
    SegmentHeader header;
  };
  using SourcePtr = std::shared_ptr<Source>;
  using Place = std::pair<std::uint64_t, std::uint64_t>;  // segment and offset
  using Queue = std::multimap<Place, Request>;
  static constexpr std::size_t kUses = 4;
  static constexpr std::size_t kMostRead = 1 << 20;       // bytes of one read of several bodies
  static constexpr std::size_t kMostGap = 32 * 1024;      // bytes that are read in vain
  static constexpr std::size_t kMostUnderWay = 32 << 20;  // bytes that are read and not taken
  static constexpr std::size_t kMostOpen = 32;            // files
  static constexpr int kMostFailures = 8;                 // in a row: then the disk is dead

  bool MayRead() const;
  void ReadNext(Workers::Lock& lock);
  std::vector<Request> TakeRun();
  void Read(std::vector<Request> run);
  std::vector<Answer> ReadRun(std::span<const Request> run);
  Answer ReadAlone(const Request& request);
  bool NeighbourCanBeRead(const Request& request);
  bool CanRead(std::uint64_t segment, std::uint64_t offset);
  bool MayTry();
  void NoteRead(bool failed);
  std::string ReadSectors(const Request& request);
  void Check(const Source& source, std::string_view bytes, RecordCodec& codec, Answer& answer);
  void ReadSetAside(RecordCodec& codec, Answer& answer);
  SourcePtr Open(std::uint64_t number, std::string& problem);

  FileSystem& file_system_;
  const std::string directory_;
  const int most_threads_;
  const std::function<void()> notify_;
  std::map<std::uint64_t, std::size_t> asked_;  // requests of each segment; the loop's own

  mutable std::mutex mutex_;  // guards what follows
  std::array<Queue, kUses> queues_;
  std::array<Place, kUses> next_{};  // where the last read of each use ended
  std::vector<Answer> answers_;
  std::size_t under_way_ = 0;
  std::list<SourcePtr> open_;  // the one used last is in front
  int failures_ = 0;           // of reads, in a row
  bool dead_ = false;
  Time try_at_ = 0;  // the dead disk, by the file system's clock

  Workers workers_;
};

}  // namespace gearstalk
