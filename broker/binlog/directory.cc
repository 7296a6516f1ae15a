#include "broker/binlog/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "broker/base/descriptor.h"
#include "broker/base/owner.h"
#include "broker/base/split.h"
#include "broker/journal/record.h"

namespace gearstalk::binlog {
namespace {

Status Failed(const char* call, const std::string& path) {
  return {Code::kIo, fmt::format("{} {}: {}", call, path, std::strerror(errno))};
}

// 0: not a file of the log.
std::uint64_t NumberOf(std::string_view name) {
  constexpr std::string_view kPrefix = "binlog.";
  if (!name.starts_with(kPrefix)) return 0;
  name.remove_prefix(kPrefix.size());
  std::uint64_t number = 0;
  return ParseNumber(name, number) && name.front() != '0' ? number : 0;
}

Status SyncDirectory(const std::string& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd < 0) return Failed("open", path);
  return ::fsync(fd) != 0 ? Failed("fsync", path) : Status();
}

// Where Retire puts the files.
std::string RetiredTo(const std::string& directory) { return directory + "/imported-binlog"; }

// A fingerprint as the files are added to it, by ascending numbers.
class Fingerprint {
 public:
  void Add(std::uint64_t number, std::string_view bytes) {
    hash_ = XXH3_64bits_withSeed(bytes.data(), bytes.size(), hash_ ^ number);
    ++files_;
  }
  std::string Text() const { return fmt::format("binlog {:016x} in {} files", hash_, files_); }

 private:
  std::uint64_t hash_ = 0;
  std::size_t files_ = 0;
};

// Another log that was retired here before keeps its files: in imported-binlog.1, or .2 and so on.
Status KeepEarlier(const std::string& directory, const std::vector<NumberedFile>& files) {
  const std::string to = RetiredTo(directory);
  const bool in_the_way = std::ranges::any_of(files, [&](const NumberedFile& file) {
    return ::access((to + "/" + file.name).c_str(), F_OK) == 0;
  });
  if (!in_the_way) return {};
  for (int number = 1;; ++number) {
    const std::string kept = fmt::format("{}.{}", to, number);
    if (::access(kept.c_str(), F_OK) == 0) continue;
    return ::rename(to.c_str(), kept.c_str()) != 0 ? Failed("rename", to) : Status();
  }
}

}  // namespace

Result<MappedFile> MappedFile::Open(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe waits for its writer.
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (fd < 0) return Failed("open", path);
  struct stat info {};
  if (::fstat(fd, &info) != 0) return Failed("fstat", path);
  if (!S_ISREG(info.st_mode)) return Status(Code::kIo, path + " is no file");
  const auto size = static_cast<std::size_t>(info.st_size);
  void* const data = size == 0 ? nullptr : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED) return Failed("mmap", path);
  return MappedFile(static_cast<const char*>(data), size);
}

void MappedFile::Unmap::operator()(const char* data) const {
  ::munmap(const_cast<char*>(data), size);
}

void MappedFile::Forget() const {
  if (data_ == nullptr) return;
  ::madvise(const_cast<char*>(data_.get()), data_.get_deleter().size, MADV_DONTNEED);
}

Result<std::vector<NumberedFile>> FindFiles(const std::string& directory) {
  DIR* const open = ::opendir(directory.c_str());
  if (open == nullptr) return Failed("open", directory);
  std::vector<NumberedFile> files;
  while (const dirent* entry = ::readdir(open)) {
    if (const std::uint64_t number = NumberOf(entry->d_name); number > 0) {
      files.push_back({number, entry->d_name});
    }
  }
  ::closedir(open);
  std::ranges::sort(files, {}, &NumberedFile::number);
  return files;
}

Result<Directory> Directory::Read(const std::string& directory, Time now) {
  std::vector<NumberedFile> found = GS_TRY(FindFiles(directory));
  if (found.empty()) {
    return Status(Code::kNotFound, directory + " has no files binlog.N");
  }
  Directory log;
  log.names_ = std::move(found);
  Fingerprint fingerprint;
  for (const NumberedFile& file : log.names_) {
    MappedFile mapped = GS_TRY(MappedFile::Open(directory + "/" + file.name));
    const std::string_view bytes = mapped.bytes();
    fingerprint.Add(file.number, bytes);
    log.index_.AddFile(file.name, file.number, bytes);
    mapped.Forget();
    log.files_.push_back(std::move(mapped));
  }
  log.index_.Finish(now);
  log.fingerprint_ = fingerprint.Text();
  return log;
}

gearstalk::Record Directory::RecordOf(const Job& job) const {
  using Kept = gearstalk::Record::State;
  gearstalk::Record record;
  record.id = job.id;
  record.state = job.state == State::kDelayed  ? Kept::kDelayed
                 : job.state == State::kBuried ? Kept::kBuried
                                               : Kept::kReady;
  record.priority = job.priority;
  record.ttr_s = job.ttr_s;
  record.delay_s = job.delay_s;
  record.due = job.due;
  record.created = job.created;
  record.burial = job.burial;
  const auto& [reserves, timeouts, releases, buries, kicks] = job.counters;
  record.counters = {reserves, timeouts, releases, buries, kicks, 0};
  record.keep_on_failure = true;
  record.tube = index_.tube(job);
  record.body = BodyOf(job);
  return record;
}

std::string FingerprintBeforeRetire(const std::string& directory) {
  Result<std::vector<NumberedFile>> files = FindFiles(directory);
  Result<std::vector<NumberedFile>> moved = FindFiles(RetiredTo(directory));
  if (!files.ok() || !moved.ok() || moved.value().empty()) return {};
  std::vector<NumberedFile>& all = files.value();
  for (const NumberedFile& file : moved.value()) {
    all.push_back({file.number, "imported-binlog/" + file.name});
  }
  std::ranges::sort(all, {}, &NumberedFile::number);
  if (std::ranges::adjacent_find(all, {}, &NumberedFile::number) != all.end()) return {};
  Fingerprint fingerprint;
  for (const NumberedFile& file : all) {
    const Result<MappedFile> mapped = MappedFile::Open(directory + "/" + file.name);
    if (!mapped.ok()) return {};
    fingerprint.Add(file.number, mapped.value().bytes());
  }
  return fingerprint.Text();
}

Status Retire(const std::string& directory) {
  const std::vector<NumberedFile> files = GS_TRY(FindFiles(directory));
  GS_TRY(KeepEarlier(directory, files));
  const std::string to = RetiredTo(directory);
  if (::mkdir(to.c_str(), 0750) != 0 && errno != EEXIST) return Failed("mkdir", to);
  GiveToOwnerOf(directory, to);
  for (const NumberedFile& file : files) {
    const std::string from = directory + "/" + file.name;
    if (::rename(from.c_str(), (to + "/" + file.name).c_str()) != 0) return Failed("rename", from);
  }
  GS_TRY(SyncDirectory(to));
  return SyncDirectory(directory);
}

}  // namespace gearstalk::binlog
