#include "broker/binlog/file_reader.h"

#include <algorithm>

#include "broker/base/check.h"
#include "broker/base/stored_number.h"

namespace gearstalk::binlog {

// Where the values of a record lie behind its name.
struct FileReader::Layout {
  std::uint64_t name_size;  // bytes of the length of the name
  std::uint64_t size;       // bytes of all values
  Time unit;                // nanoseconds in a unit of the times
};

const FileReader::Layout FileReader::kVersion7{4, 80, 1};
const FileReader::Layout FileReader::kVersion5{8, 77, kMicrosecond};

namespace {

constexpr std::uint64_t kLongestName = 200;
// Offsets in the values; both versions have the same.
constexpr std::uint64_t kId = 0, kPriority = 8, kDelay = 16, kTtr = 24, kBodySize = 32,
                        kCreated = 40, kDeadline = 48, kCounters = 56, kState = 76;
// The highest byte of a time, the seventh in microseconds or the eighth in nanoseconds, is never
// zero: a record that ends in zeros from the seventh byte on was being written when the machine
// stopped.
constexpr std::uint64_t kCreatedWritten = kCreated + 7;

}  // namespace

FileReader::FileReader(std::string_view bytes) : bytes_(bytes) {
  const std::size_t last = bytes.find_last_not_of('\0');
  zeros_ = last == std::string_view::npos ? 0 : last + 1;
}

// Cuts values that no clock shows to the range of Time.
Time FileReader::LoadTime(std::uint64_t offset) const {
  const auto value = Load<std::int64_t>(bytes_, offset);
  if (value < 0 || value > kNever / layout_->unit) return kNever;
  return value * layout_->unit;
}

Finding FileReader::ReadVersion() {
  if (zeros_ == 0) return {Finding::Kind::kZeroFile};
  if (bytes_.size() < 4) return {Finding::Kind::kDamage, 0, 0, "the version is cut"};
  const auto version = Load<std::uint32_t>(bytes_, 0);
  at_ = 4;
  if (version == 7 || version == 5) {
    layout_ = version == 7 ? &kVersion7 : &kVersion5;
    return {};
  }
  const bool swapped = version == 7U << 24 || version == 5U << 24;
  return {Finding::Kind::kForeign, 0, 0,
          swapped ? "the log of a big-endian machine, version" : "unknown version",
          swapped ? version >> 24 : version};
}

FileReader::Step FileReader::Stop(Finding& finding, Finding::Kind kind, const char* problem,
                                  std::uint64_t value) const {
  finding = {kind, at_, 0, problem, value};
  return Step::kEnd;
}

FileReader::Step FileReader::Next(Record& record, Finding& finding) {
  GS_CHECK(layout_ != nullptr);
  finding = {};
  if (at_ >= zeros_) return Step::kEnd;
  if (bytes_.size() - at_ < layout_->name_size) {
    return Stop(finding, Finding::Kind::kDamage, "record cut");
  }
  const std::uint64_t length =
      layout_->name_size == 4 ? Load<std::uint32_t>(bytes_, at_) : Load<std::uint64_t>(bytes_, at_);
  if (length > kLongestName) return Stop(finding, Finding::Kind::kDamage, "name length", length);
  const std::uint64_t name = at_ + layout_->name_size;
  const std::uint64_t fixed = name + length;
  if (fixed + layout_->size > bytes_.size()) {
    return Stop(finding, Finding::Kind::kDamage, "record cut");
  }
  if (zeros_ < fixed + kCreatedWritten) return Stop(finding, Finding::Kind::kCrash);
  if (Load<std::uint64_t>(bytes_, fixed + kId) == 0) {
    return Stop(finding, Finding::Kind::kDamage, "bytes behind the end of the data");
  }
  const auto state = Load<std::uint8_t>(bytes_, fixed + kState);
  if (state > 4) return Stop(finding, Finding::Kind::kDamage, "job state", state);
  LoadValues(fixed, record);
  record.full = length > 0;
  if (record.full) return ReadBody(record, finding, name, length);
  record.tube = record.body = {};
  at_ = fixed + layout_->size;
  return Step::kRecord;
}

void FileReader::LoadValues(std::uint64_t fixed, Record& record) const {
  record.id = Load<std::uint64_t>(bytes_, fixed + kId);
  record.priority = Load<std::uint32_t>(bytes_, fixed + kPriority);
  record.delay = LoadTime(fixed + kDelay);
  record.ttr = LoadTime(fixed + kTtr);
  record.created = LoadTime(fixed + kCreated);
  record.deadline = LoadTime(fixed + kDeadline);
  static_assert(sizeof(Counters) == 20);  // as many bytes as the file has
  record.counters = Load<Counters>(bytes_, fixed + kCounters);
  record.state = static_cast<State>(Load<std::uint8_t>(bytes_, fixed + kState));
}

FileReader::Step FileReader::ReadBody(Record& record, Finding& finding, std::uint64_t name,
                                      std::uint64_t length) {
  const std::uint64_t fixed = name + length;
  record.tube = bytes_.substr(name, length);
  if (record.tube.find('\0') != std::string_view::npos) {
    return Stop(finding, Finding::Kind::kDamage, "a NUL in the name of a tube");
  }
  const auto size = Load<std::int32_t>(bytes_, fixed + kBodySize);
  const std::uint64_t body = fixed + layout_->size;
  if (size < 2) {
    return zeros_ <= fixed + layout_->size ? Stop(finding, Finding::Kind::kCrash)
                                           : Stop(finding, Finding::Kind::kDamage, "body size",
                                                  static_cast<std::uint64_t>(std::max(size, 0)));
  }
  const auto room = static_cast<std::uint64_t>(size);
  if (room > bytes_.size() - body) return Stop(finding, Finding::Kind::kDamage, "body cut");
  const std::uint64_t start = at_;
  at_ = body + room;
  if (bytes_.substr(at_ - 2, 2) == "\r\n") {
    record.body = bytes_.substr(body, room - 2);
    return Step::kRecord;
  }
  finding = {Finding::Kind::kUnfinished, start, record.id, "", 0};
  return Step::kSkipped;
}

}  // namespace gearstalk::binlog
