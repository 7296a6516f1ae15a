#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace gearstalk::ctl {

// A file that is whole or not there: it is written beside its name, which it gets at the end. If
// the name is that of a device or a pipe, this is written to instead.
class NewFile {
 public:
  explicit NewFile(const std::string& path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  bool open() const { return file_ != nullptr; }
  // If it is not open.
  const std::string& problem() const { return problem_; }
  bool Write(std::string_view bytes);
  // All is written, and the file has its name.
  bool Finish();

 private:
  std::string path_;    // behind symbolic links
  std::string beside_;  // what to remove if it does not get its name; empty: nothing
  std::FILE* file_;
  std::string problem_;
};

}  // namespace gearstalk::ctl
