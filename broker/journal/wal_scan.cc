#include "broker/journal/wal_scan.h"

#include <algorithm>
#include <utility>

namespace gearstalk {

std::string WalGap::ToString() const {
  std::string text = path;
  if (to > 0) text += " at offset " + std::to_string(from) + " to " + std::to_string(to);
  text += ": " + why;
  if (last == first) text += "; record " + std::to_string(first) + " is missing";
  if (last > first) {
    text += "; records " + std::to_string(first) + " to " + std::to_string(last) + " are missing";
  }
  return text;
}

WalScan::WalScan(FileSystem& file_system, std::string directory)
    : file_system_(file_system), directory_(std::move(directory)) {}

bool WalScan::damaged() const {
  return std::any_of(gaps_.begin(), gaps_.end(), [](const WalGap& gap) { return !gap.torn; });
}

std::uint64_t WalScan::lost_records() const {
  std::uint64_t records = 0;
  for (const WalGap& gap : gaps_) {
    records += std::max((gap.to - gap.from) / kFrameHeaderSize, gap.last + 1 - gap.first);
  }
  return records;
}

Status WalScan::Run(const Visit& visit) {
  visit_ = visit;
  std::vector<FoundSegment> found;
  Status status = FindSegments(file_system_, directory_, found);
  if (!status.ok()) return status;
  for (const FoundSegment& segment : found) {
    if (segment.header_status.code() == Code::kInvalid) {
      return {Code::kInvalid, segment.path + " is of " + segment.header_status.message()};
    }
  }
  if (status = FindOldest(found); !status.ok()) return status;
  std::uint64_t expected = oldest_;
  for (const FoundSegment& segment : found) {
    if (segment.number < oldest_) continue;
    for (; expected < segment.number; ++expected) {
      Stop({directory_ + "/" + SegmentName(expected), 0, 0, 1, 0, "the file is missing"}, true);
    }
    ++expected;
    if (status = ReadSegment(segment); !status.ok()) return status;
  }
  if (stop_ && stop_is_gap_) gaps_.push_back(*stop_);
  return {};
}

// The last mark there is says where the log begins.
Status WalScan::FindOldest(const std::vector<FoundSegment>& found) {
  if (found.empty()) return {};
  oldest_ = found.front().number;
  for (auto segment = found.rbegin(); segment != found.rend(); ++segment) {
    if (!segment->header_status.ok()) continue;
    if (Status status = LoadSegment(file_system_, *segment, bytes_); !status.ok()) return status;
    Mark mark;
    if (!LastMark(bytes_.view(), segment->header, mark)) continue;
    oldest_ = mark.oldest;
    return {};
  }
  return {};
}

Status WalScan::ReadSegment(const FoundSegment& segment) {
  segments_.push_back({segment.path, segment.number, segment.size, 0});
  if (!segment.header_status.ok()) {
    Stop({segment.path, 0, segment.size, 1, 0, segment.header_status.message()}, true);
    return {};
  }
  if (Status status = LoadSegment(file_system_, segment, bytes_); !status.ok()) return status;
  SegmentReader reader(bytes_.view(), segment.header);
  while (true) {
    const SegmentReader::Item item = reader.Next();
    if (item == SegmentReader::Item::kMark) {
      TakeMark(reader.mark(), segment, reader.offset());
    } else if (item == SegmentReader::Item::kRecord) {
      ReadRecord(reader, segment);
    } else if (!PassOver(reader, item, segment)) {
      return {};
    }
  }
}

void WalScan::ReadRecord(const SegmentReader& reader, const FoundSegment& segment) {
  const Lsn lsn = next_ == 0 ? 0 : next_++;
  Record record;
  const Frame& frame = reader.frame();
  const Status status = codec_.Decode(frame.record, frame.body, record);
  if (status.ok()) {
    ++segments_.back().records;
    visit_(record, segment.number);
  } else {
    gaps_.push_back(
        {segment.path, reader.offset(), reader.offset() + frame.size, lsn, lsn, status.message()});
  }
}

// Goes on behind what cannot be read, if there is anything; notes what was passed over.
bool WalScan::PassOver(SegmentReader& reader, SegmentReader::Item item,
                       const FoundSegment& segment) {
  WalGap gap{segment.path, reader.offset(), segment.size, 1, 0, "it cannot be read"};
  const SegmentReader::Skipped skipped = reader.Skip();
  if (skipped != SegmentReader::Skipped::kNothing) gap.to = reader.next();
  switch (skipped) {
    case SegmentReader::Skipped::kRecord:
      if (next_ != 0) gap.first = gap.last = next_++;
      gaps_.push_back(std::move(gap));
      return true;
    case SegmentReader::Skipped::kMark:
      gaps_.push_back(std::move(gap));
      return true;
    case SegmentReader::Skipped::kUnknown:
      Stop(std::move(gap), true);
      return true;
    case SegmentReader::Skipped::kNothing:
      break;
  }
  // Whether something is missing here is known from where the next segment begins.
  gap.torn = true;
  gap.why = "a write was not finished";
  Stop(std::move(gap), item == SegmentReader::Item::kBad);
  return false;
}

void WalScan::Stop(WalGap gap, bool certain) {
  if (stop_ && stop_is_gap_) gaps_.push_back(*stop_);
  stop_ = std::move(gap);
  stop_is_gap_ = certain;
}

void WalScan::TakeMark(const Mark& mark, const FoundSegment& segment, std::uint64_t offset) {
  const bool missing = next_ != 0 && mark.next > next_;
  if (missing && !stop_) stop_ = WalGap{segment.path, offset, offset, 1, 0, "", false};
  const bool same_file = stop_ && stop_->path == segment.path;
  if (stop_ && (missing || (stop_is_gap_ && (same_file || !stop_->torn)))) {
    if (missing) {
      stop_->first = next_;
      stop_->last = mark.next - 1;
    }
    if (stop_->torn || stop_->why.empty()) stop_->why = "it cannot be read";
    stop_->torn = false;
    gaps_.push_back(*stop_);
  }
  stop_.reset();
  next_ = mark.next;
}

}  // namespace gearstalk
