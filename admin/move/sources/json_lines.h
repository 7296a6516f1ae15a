#pragma once

#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "broker/base/status.h"
#include "broker/journal/record.h"

// Jobs as lines of JSON; docs/migration.md has the format.
namespace gearstalk::ctl {

std::string JobsHeadLine(Time made);
std::string JobsEndLine(std::uint64_t jobs, std::uint64_t next_id);
// A job (kPut), or the settings of a tube (kTube). `reserved`: somebody has the job.
std::string LineOf(const Record& record, bool reserved = false);

// What a line of a jobs file holds; the views lie in the object.
class JobsLine {
 public:
  enum class Kind : std::uint8_t { kHead, kTube, kJob, kEnd };
  // kCorrupt: not a line of such a file.
  Status Parse(std::string_view line);

  Kind kind() const { return kind_; }
  const Record& record() const { return record_; }    // kTube, kJob
  std::uint64_t jobs() const { return jobs_; }        // kEnd
  std::uint64_t next_id() const { return next_id_; }  // kEnd

 private:
  Status ParseJob(const nlohmann::json& line);
  Status ParseTube(const nlohmann::json& line);

  Kind kind_ = Kind::kHead;
  Record record_;
  std::deque<std::string> texts_;  // of the record
  std::uint64_t jobs_ = 0, next_id_ = 0;
};

}  // namespace gearstalk::ctl
