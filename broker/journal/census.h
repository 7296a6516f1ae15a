#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "broker/journal/live_jobs.h"
#include "broker/journal/record.h"

namespace gearstalk {

// What is live at the end of a log, for tools that read one and have no state.
class Census {
 public:
  // The next record of the log; `bytes` are those of its frame.
  void Count(const Record& record, std::uint64_t segment, std::size_t bytes);

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
