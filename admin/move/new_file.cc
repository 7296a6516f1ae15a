#include "admin/move/new_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace gearstalk::ctl {

namespace fs = std::filesystem;

NewFile::NewFile(const std::string& path) {
  std::error_code error;
  const fs::path behind = fs::weakly_canonical(path, error);
  path_ = error ? path : behind.string();
  struct stat there {};
  const bool known = ::stat(path.c_str(), &there) == 0;
  if (!known || S_ISREG(there.st_mode)) beside_ = path_ + ".new-" + std::to_string(::getpid());
  // /dev/stdout may be a pipe, which has no path. Nothing that is there is written over.
  file_ = beside_.empty() ? std::fopen(path.c_str(), "w") : std::fopen(beside_.c_str(), "wx");
  if (file_ == nullptr) {
    // Containers give the same number to each process.
    problem_ = errno == EEXIST
                   ? beside_ + " is there: a command that was killed has left it; remove it"
                   : path_ + ": " + std::strerror(errno);
    beside_.clear();
  }
  if (known && !beside_.empty()) ::fchmod(::fileno(file_), there.st_mode);
}

NewFile::~NewFile() {
  if (file_ != nullptr) std::fclose(file_);
  if (!beside_.empty()) std::remove(beside_.c_str());
}

bool NewFile::Write(std::string_view bytes) {
  return std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size();
}

bool NewFile::Finish() {
  // On disk before it has its name: otherwise a power cut could leave an empty file.
  const bool written = std::fflush(file_) == 0 && std::ferror(file_) == 0 &&
                       (beside_.empty() || ::fsync(::fileno(file_)) == 0);
  if (std::fclose(std::exchange(file_, nullptr)) != 0 || !written) return false;
  if (beside_.empty()) return true;
  if (std::rename(beside_.c_str(), path_.c_str()) != 0) return false;
  beside_.clear();
  return true;
}

}  // namespace gearstalk::ctl
