#pragma once

#include <memory>
#include <string>

#include "broker/base/descriptor.h"
#include "broker/base/status.h"

namespace gearstalk {

// A file with the process id. Create makes it before the process gives up root, and Write fills it
// when the broker is ready. The destructor removes it, or empties it if the user may not remove it.
class PidFile {
 public:
  static Result<std::unique_ptr<PidFile>> Create(const std::string& path);
  ~PidFile();
  PidFile(const PidFile&) = delete;
  PidFile& operator=(const PidFile&) = delete;

  Status Write();

 private:
  PidFile(std::string path, Descriptor fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  const std::string path_;
  const Descriptor fd_;
};

}  // namespace gearstalk
