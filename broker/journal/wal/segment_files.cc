#include "broker/journal/wal/segment_files.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gearstalk {

SegmentFiles::SegmentFiles(FileSystem& file_system, std::string directory, Directory& opened,
                           StateFile& state, std::uint64_t segment_size, std::uint64_t journal_salt)
    : file_system_(file_system),
      directory_(std::move(directory)),
      opened_(opened),
      state_(state),
      spare_path_(directory_ + "/" + kSpareName),
      segment_size_(segment_size),
      journal_salt_(journal_salt) {}

std::string SegmentFiles::Path(std::uint64_t number) const {
  return directory_ + "/" + SegmentName(number);
}

void SegmentFiles::Adopt(std::uint64_t number, std::uint64_t size) {
  segments_.push_back({number, size});
}

Fault SegmentFiles::Discard(std::uint64_t number, std::uint64_t size) {
  const bool recycle = spare_ == Spare::kNone && size == segment_size_;
  return recycle ? Recycle(Path(number)) : Remove(Path(number));
}

std::uint64_t SegmentFiles::DiskBytes() const {
  std::uint64_t bytes = spare_ == Spare::kNone ? 0 : spare_size_;
  for (const Segment& segment : segments_) bytes += segment.size;
  return bytes;
}

Fault SegmentFiles::Begin(std::uint64_t number, std::uint64_t size) {
  if (current_number_ == number && current_ != nullptr) return {};
  if (Fault fault = SealCurrent()) return fault;
  if (spare_ == Spare::kNone) {
    if (Fault fault = OpenSpare(size)) return fault;
  }
  if (spare_ != Spare::kReady) {
    if (Fault fault = NameSpare(number)) return fault;
  }
  if (size > spare_blocks_) {
    if (Fault fault = AllocateMore(number, size)) return fault;
  }
  current_ = std::move(spare_file_);
  current_number_ = number;
  current_used_ = kSegmentHeaderSize;
  segments_.push_back({number, std::max(size, spare_size_)});
  spare_ = Spare::kNone;
  return {};
}

// Allocates more than what was prepared, or nothing if the disk has not enough: a disk that is full
// to the last byte would leave no room for deletions.
Fault SegmentFiles::AllocateMore(std::uint64_t number, std::uint64_t size) {
  const int error = spare_file_->Allocate(size);
  if (error == 0 || error == -EOPNOTSUPP) return {};  // later writes report a full disk
  Fault fault{error, "fallocate", Path(number)};
  if (!fault.no_space()) return fault;
  spare_size_ = std::max<std::uint64_t>(spare_blocks_, kSegmentHeaderSize + kEndSize);
  const int undone = spare_file_->Truncate(spare_size_);
  return undone == 0 ? fault : Fault{undone, "ftruncate", Path(number)};
}

// The old segment must be complete on disk before the next one continues the log.
Fault SegmentFiles::SealCurrent() {
  if (current_ == nullptr) return {};
  Segment& segment = segments_.back();
  const std::uint64_t size = SealedSize(current_used_, segment.size);
  if (size < segment.size) {
    if (Fault fault{current_->Truncate(size), "ftruncate", Path(segment.number)}) return fault;
    segment.size = size;
  }
  if (Fault fault = Sync()) return fault;
  current_.reset();
  return {};
}

Fault SegmentFiles::Write(std::uint64_t offset, std::string_view bytes, std::size_t used) {
  const int error = WriteFully(*current_, offset, bytes);
  if (error != 0) return {error, "pwrite", Path(current_number_)};
  current_used_ = offset + used;
  segments_.back().size = std::max(segments_.back().size, current_used_);
  return {};
}

Fault SegmentFiles::Sync() {
  if (current_ == nullptr) return {};
  const int error = current_->Sync();
  return error == 0 ? Fault{} : Fault{error, "fdatasync", Path(current_number_)};
}

Fault SegmentFiles::Release(std::uint64_t oldest) {
  while (!segments_.empty() && segments_.front().number < oldest) {
    const Segment segment = segments_.front();
    if (Fault fault = Discard(segment.number, segment.size)) return fault;
    segments_.pop_front();
  }
  return {};
}

Fault SegmentFiles::Recycle(const std::string& path) {
  auto opened = file_system_.Open(path, FileSystem::Mode::kWrite);
  if (opened.error != 0) return {opened.error, "open", path};
  if (Fault fault{file_system_.Rename(path, spare_path_), "rename", path}) return fault;
  spare_file_ = std::move(opened.file);
  spare_size_ = spare_blocks_ = segment_size_;
  spare_ = Spare::kFilled;
  return {};
}

Fault SegmentFiles::Remove(const std::string& path) {
  return {file_system_.Unlink(path), "unlink", path};
}

Fault SegmentFiles::Prepare(std::uint64_t step) {
  Fault fault;
  switch (spare_) {
    case Spare::kNone:
      return OpenSpare(segment_size_);
    case Spare::kEmpty:
      fault = AllocateSpare();
      break;
    case Spare::kFilling:
      fault = FillSpare(step);
      break;
    case Spare::kFilled:
    case Spare::kNamed:
      return NameSpare(current_number_ + 1);
    case Spare::kReady:
      return {};
  }
  if (fault.no_space()) {
    // Nothing was stored in it yet: it is removed and made again.
    spare_file_.reset();
    spare_ = Spare::kNone;
    if (Fault removal = Remove(spare_path_)) return removal;
  }
  return fault;
}

Fault SegmentFiles::PrepareWhatFits() {
  Fault first;
  for (std::uint64_t eighths = 8; eighths > 0; --eighths) {
    const std::uint64_t size = segment_size_ * eighths / 8;
    Fault fault;
    while (!fault && !Prepared()) {
      fault = spare_ == Spare::kNone ? OpenSpare(size) : Prepare(size);
    }
    if (eighths == 8) first = fault;
    if (!fault.no_space()) return fault ? fault : first;
  }
  return first;
}

Fault SegmentFiles::OpenSpare(std::uint64_t size) {
  auto opened = file_system_.Open(spare_path_, FileSystem::Mode::kCreate);
  if (opened.error != 0) return {opened.error, "open", spare_path_};
  spare_file_ = std::move(opened.file);
  spare_size_ = size;
  spare_filled_ = spare_blocks_ = 0;
  spare_ = Spare::kEmpty;
  return {};
}

Fault SegmentFiles::AllocateSpare() {
  const int error = spare_file_->Allocate(spare_size_);
  if (error != 0 && error != -EOPNOTSUPP) return {error, "fallocate", spare_path_};
  spare_blocks_ = spare_size_;
  spare_ = Spare::kFilling;
  return {};
}

Fault SegmentFiles::FillSpare(std::uint64_t step) {
  static constexpr std::array<char, 64 * 1024> kZeros{};
  const std::uint64_t end = std::min(spare_size_, spare_filled_ + step);
  while (spare_filled_ < end) {
    const std::size_t size = std::min<std::size_t>(kZeros.size(), end - spare_filled_);
    const int error = WriteFully(*spare_file_, spare_filled_, {kZeros.data(), size});
    if (error != 0) return {error, "pwrite", spare_path_};
    spare_filled_ += size;
  }
  if (Fault fault{spare_file_->Sync(), "fdatasync", spare_path_}) return fault;
  if (spare_filled_ == spare_size_) spare_ = Spare::kFilled;
  return {};
}

Fault SegmentFiles::NameSpare(std::uint64_t number) {
  if (spare_ == Spare::kNamed) return SyncName();
  std::array<char, kSegmentHeaderSize + kEndSize> start{};  // whatever was in the file ends there
  EncodeSegmentHeader({kWalVersion, number, SegmentSalt(journal_salt_, number)}, start.data());
  const std::string_view bytes(start.data(), start.size());
  if (Fault fault{WriteFully(*spare_file_, 0, bytes), "pwrite", spare_path_}) return fault;
  if (Fault fault{spare_file_->Sync(), "fdatasync", spare_path_}) return fault;
  if (Fault fault{file_system_.Rename(spare_path_, Path(number)), "rename", spare_path_}) {
    return fault;
  }
  spare_ = Spare::kNamed;
  return SyncName();
}

Fault SegmentFiles::SyncName() {
  if (Fault fault{opened_.Sync(), "fsync", directory_}) return fault;
  spare_ = Spare::kReady;
  return {};
}

}  // namespace gearstalk
