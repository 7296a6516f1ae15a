#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "broker/binlog/file_reader.h"

namespace gearstalk::binlog {

// A job of a log as it is at the end of the log. Its body stays in its file.
struct Job {
  std::uint64_t id = 0;
  std::uint64_t body_offset = 0;
  std::uint32_t body_size = 0;
  std::uint32_t file = 0;  // place among the files added
  std::uint32_t tube = 0;  // place in JobIndex::tubes
  std::uint32_t priority = 0;
  std::uint32_t delay_s = 0, ttr_s = 0;
  Time created = 0;
  Time due = 0;              // kDelayed
  std::uint64_t burial = 0;  // kBuried: its place in the order of burial
  Counters counters;
  State state = State::kReady;  // ready, delayed or buried
};

// What the reader met that is not a plain record.
struct Note {
  std::string file;
  std::uint64_t offset = 0;
  bool damage = false;
  std::string text;
  std::string Where() const { return file + ":" + std::to_string(offset); }
};

// The jobs of a whole log, without their bodies: some 110 bytes a job. Files are added in ascending
// order of their numbers.
class JobIndex {
 public:
  // Records before a damage count; a damage does not keep later files from being added.
  void AddFile(const std::string& name, std::uint64_t number, std::string_view bytes);
  // After the last file: jobs by id, delayed ones that are due made ready.
  void Finish(Time now);

  const std::vector<Job>& jobs() const { return jobs_; }
  const std::string& tube(const Job& job) const { return tubes_[job.tube]; }
  // Above every id that occurs, also of jobs that are gone. 1 for an empty log.
  std::uint64_t next_id() const { return next_id_; }
  const std::vector<Note>& notes() const { return notes_; }
  bool damaged() const { return damaged_; }

 private:
  void Add(const Record& record, std::uint32_t file, std::string_view bytes);
  std::uint32_t PlaceOfTube(std::string_view name);
  static void CopyValues(const Record& record, Job& job);
  void SetState(const Record& record, Job& job);
  void AddFinding(const std::string& name, const Finding& finding);
  void AddDamage(const std::string& name, std::uint64_t offset, std::string text);

  std::vector<Job> jobs_;
  absl::flat_hash_map<std::uint64_t, std::uint32_t> places_;  // of live jobs, by id
  std::vector<std::uint32_t> free_;                           // places of jobs that are gone
  std::vector<std::string> tubes_;
  std::map<std::string, std::uint32_t, std::less<>> tube_places_;
  std::vector<Note> notes_;
  std::uint64_t next_id_ = 1;
  std::uint64_t next_burial_ = 1;
  std::uint64_t last_number_ = 0;
  std::uint32_t files_ = 0;
  bool damaged_ = false;
};

}  // namespace gearstalk::binlog
