#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "broker/journal/record.h"

namespace gearstalk {

// What a log has to keep for `record.id` once it has this record. Whoever counts, carries or copies
// what is live asks this.
enum class Keeps : std::uint8_t {
  kJob,      // this record: the job as it is now
  kKey,      // this record: the job is finished, its key stays taken
  kNothing,  // the job, or the key that it left, is gone
  kSame,     // what it kept before: a change of a job, or settings, which each segment repeats
};

constexpr Keeps KeptAfter(Record::Kind kind) {
  switch (kind) {
    case Record::Kind::kPut:
      return Keeps::kJob;
    case Record::Kind::kSeen:
      return Keeps::kKey;
    case Record::Kind::kDelete:
      return Keeps::kNothing;
    case Record::Kind::kChange:
    case Record::Kind::kTube:
    case Record::Kind::kNextId:
    case Record::Kind::kSchedule:
    case Record::Kind::kMark:
    case Record::Kind::kCount:
    case Record::Kind::kEnd:
      break;
  }
  return Keeps::kSame;
}

// For each live job, where its record is: 12 bytes a job, and little more for the index; 16 in a
// log whose frames have no checksums of their own.
class LiveJobs {
 public:
  struct Place {
    std::uint64_t segment = 0;  // 0: the job is not known
    std::uint64_t bytes = 0;    // the length of its frame
    std::uint64_t offset = 0;   // of the frame in the segment
    std::uint32_t check = 0;    // of the body; 0: the log keeps none
    std::uint64_t end() const { return offset + bytes; }
  };

  Place Find(std::uint64_t id) const;
  // Both return what was there before.
  Place Set(std::uint64_t id, const Place& place);
  Place Erase(std::uint64_t id);

  std::uint64_t size() const { return size_; }

 private:
  static constexpr std::uint64_t kPageIds = 64;
  using Words = std::array<std::uint32_t, kPageIds>;
  struct Page {
    Words segment{};
    Words size{};
    Words offset{};
    std::uint32_t used = 0;
    std::unique_ptr<Words> check;  // nullptr: all are 0
  };

  static Place PlaceAt(const Page& page, std::uint64_t slot) {
    return {page.segment[slot], page.size[slot], page.offset[slot],
            page.check == nullptr ? 0 : (*page.check)[slot]};
  }

  absl::flat_hash_map<std::uint64_t, std::unique_ptr<Page>> pages_;  // by id / kPageIds
  std::uint64_t size_ = 0;
};

// What is live at the end of a log, for tools that read one and have no state.
class Census {
 public:
  // The next record of the log; `bytes` are those of its frame, for who asks for bytes().
  void Count(const Record& record, std::uint64_t segment, std::size_t bytes = 0);

  std::uint64_t records() const { return records_; }
  std::uint64_t jobs() const { return jobs_.size(); }
  std::uint64_t JobsIn(std::uint64_t segment) const;
  // About, of live records.
  std::uint64_t bytes() const { return bytes_; }
  // No id from here on is in a record.
  std::uint64_t next_id() const { return next_id_; }

  // Whether a record of the log, all of which has been counted, says anything about what is live.
  bool Needs(const Record& record) const;

 private:
  LiveJobs jobs_, keys_;  // keys that finished jobs left, by their jobs
  std::map<std::uint64_t, std::uint64_t> jobs_in_;
  std::uint64_t records_ = 0, bytes_ = 0, next_id_ = 1;
};

}  // namespace gearstalk
