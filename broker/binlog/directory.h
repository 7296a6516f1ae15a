#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/status.h"
#include "broker/binlog/job_index.h"

namespace gearstalk {
struct Record;
}

namespace gearstalk::binlog {

// A file of the log in memory, read from the disk as it is used.
class MappedFile {
 public:
  static Result<MappedFile> Open(const std::string& path);

  std::string_view bytes() const { return {data_.get(), data_.get_deleter().size}; }
  // The pages that were read are of no use until they are read again.
  void Forget() const;

 private:
  struct Unmap {
    void operator()(const char* data) const;
    std::size_t size;
  };

  MappedFile(const char* data, std::size_t size) : data_(data, {size}) {}

  std::unique_ptr<const char, Unmap> data_;
};

struct NumberedFile {
  std::uint64_t number = 0;
  std::string name;  // binlog.N
};

// The files binlog.N of a directory by ascending N; none where there are none.
Result<std::vector<NumberedFile>> FindFiles(const std::string& directory);

// A whole log: its jobs, and where their bodies lie. `now` decides which delayed jobs are due.
class Directory {
 public:
  static Result<Directory> Read(const std::string& directory, Time now);

  const JobIndex& index() const { return index_; }
  std::string_view BodyOf(const Job& job) const {
    return files_[job.file].bytes().substr(job.body_offset, job.body_size);
  }
  // The job as a put; the views lie in this object.
  gearstalk::Record RecordOf(const Job& job) const;
  // Gives the memory of the bodies back that were read so far. Views of them stay good.
  void ForgetBodies() const {
    for (const MappedFile& file : files_) file.Forget();
  }
  // Changes when a byte of the log does.
  const std::string& fingerprint() const { return fingerprint_; }
  const std::vector<NumberedFile>& files() const { return names_; }

 private:
  Directory() = default;

  std::vector<NumberedFile> names_;
  std::vector<MappedFile> files_;
  JobIndex index_;
  std::string fingerprint_;
};

// What the fingerprint was if a Retire was interrupted: that of the files here and in
// imported-binlog together. Empty: these are no parts of one log.
std::string FingerprintBeforeRetire(const std::string& directory);

// Moves binlog.N to DIRECTORY/imported-binlog/, durably. What an earlier log has there goes to
// imported-binlog.1, .2 and so on.
Status Retire(const std::string& directory);

}  // namespace gearstalk::binlog
