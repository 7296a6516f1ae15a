#include "broker/journal/wal/wal_scan.h"

#include <algorithm>
#include <utility>

#include "broker/journal/wal/state_file.h"

namespace gearstalk {
namespace {

// By which the items of a segment are checked: by the salt that stands in a header that is damaged
// elsewhere, too. A whole header of another segment says that its items are not of this one.
SegmentHeader HeaderOf(const FoundSegment& segment) {
  SegmentHeader header = segment.header;
  if (header.number == 0) header.number = segment.number;
  return header;
}

bool IsOfAnother(const FoundSegment& segment) { return HeaderOf(segment).number != segment.number; }

}  // namespace

std::string WalGap::ToString() const {
  std::string text = path;
  if (to > 0) text += " at offset " + std::to_string(from) + " to " + std::to_string(to);
  if (!why.empty()) text += ": " + why;
  if (!counted) text += "; how many records are missing is not known";
  if (lost == 0) return text;
  if (first == 0) return text + "; records missing here and before: " + std::to_string(lost);
  if (lost == 1) return text + "; record " + std::to_string(first) + " is missing";
  return text + "; records " + std::to_string(first) + " to " + std::to_string(first + lost - 1) +
         " are missing";
}

Status FindJournal(FileSystem& file_system, const std::string& directory) {
  std::vector<std::string> names;
  GS_TRY(Fault{file_system.List(directory, names), "list", directory}.ToStatus());
  const bool found = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name == kStateName || SegmentNumber(name) != 0;
  });
  return found ? Status() : Status(Code::kNotFound, directory + ": no journal here");
}

WalScan::WalScan(FileSystem& file_system, std::string directory)
    : file_system_(file_system), directory_(std::move(directory)) {}

bool WalScan::damaged() const { return !std::ranges::all_of(gaps_, &WalGap::torn); }

std::uint64_t WalScan::lost_records() const {
  std::uint64_t records = 0;
  for (const WalGap& gap : gaps_) records += gap.lost;
  return records;
}

bool WalScan::lost_is_known() const {
  return std::ranges::all_of(gaps_, [](const WalGap& gap) { return gap.counted || gap.torn; });
}

std::uint64_t WalScan::most_lost_records() const {
  std::uint64_t records = 0;
  for (const WalGap& gap : gaps_) {
    records += std::max((gap.to - gap.from) / kFrameHeaderSize, gap.lost);
  }
  return records;
}

Status WalScan::Run(const Visit& visit) {
  visit_ = visit;
  GS_TRY(FindJournal(file_system_, directory_));
  const std::vector<FoundSegment> found = GS_TRY(FindSegments(file_system_, directory_));
  for (const FoundSegment& segment : found) {
    if (segment.header_status.code() == Code::kInvalid) {
      return {Code::kInvalid, segment.path + " is of " + segment.header_status.message()};
    }
  }
  GS_TRY(ReadKept());
  GS_TRY(FindEnds(found));
  GS_TRY(ReadAll(found));
  Finish();
  return Judge();
}

Status WalScan::ReadKept() {
  Result<std::optional<JournalState>> kept = ReadState(file_system_, directory_);
  if (kept.ok()) {
    kept_ = kept.value();
  } else if (kept.status().code() == Code::kCorrupt) {
    gaps_.push_back({.path = kept.status().message(), .why = ""});
  } else {
    return kept.status();
  }
  return {};
}

// The last readable mark says where the log begins.
Status WalScan::FindEnds(const std::vector<FoundSegment>& found) {
  const std::uint64_t kept = kept_ ? kept_->segment : 0;
  newest_ = std::max(kept, found.empty() ? 0 : found.back().number);
  oldest_ = found.empty() ? newest_ : found.front().number;
  for (auto segment = found.rbegin(); segment != found.rend(); ++segment) {
    if (IsOfAnother(*segment)) continue;
    GS_TRY(LoadSegment(file_system_, *segment, bytes_));
    Mark mark;
    if (!LastMark(bytes_.view(), HeaderOf(*segment), mark)) continue;
    oldest_ = mark.oldest;
    last_begun_ = segment->number;
    break;
  }
  if (oldest_ <= 1) next_ = 1;  // no record was removed from the log
  return {};
}

Status WalScan::ReadAll(const std::vector<FoundSegment>& found) {
  std::uint64_t expected = oldest_;
  for (const FoundSegment& segment : found) {
    if (segment.number < oldest_) continue;
    for (; expected < segment.number; ++expected) Missing(expected);
    ++expected;
    GS_TRY(ReadSegment(segment));
  }
  for (; kept_ && expected != 0 && expected <= kept_->segment; ++expected) Missing(expected);
  return {};
}

// Certain, unless the caller says otherwise.
WalScan::Stop& WalScan::StopAt(const std::string& path, std::uint64_t segment, std::uint64_t from,
                               std::uint64_t to, const std::string& why) {
  return stops_.emplace_back(
      Stop{{.path = path, .from = from, .to = to, .why = why, .first = next_}, segment});
}

void WalScan::Missing(std::uint64_t segment) {
  const std::string path = directory_ + "/" + SegmentName(segment);
  StopAt(path, segment, 0, 0, "the file is missing");
}

Status WalScan::ReadSegment(const FoundSegment& segment) {
  segments_.push_back({segment.path, segment.number, segment.size, 0});
  GS_TRY(LoadSegment(file_system_, segment, bytes_));
  if (!segment.header_status.ok() && !PassOverHeader(segment)) return {};
  SegmentReader reader(bytes_.view(), HeaderOf(segment));
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

// False: nothing readable follows.
bool WalScan::PassOverHeader(const FoundSegment& segment) {
  Stop& stop =
      StopAt(segment.path, segment.number, 0, segment.size, segment.header_status.message());
  if (IsOfAnother(segment)) return false;
  SegmentReader reader(bytes_.view(), HeaderOf(segment));
  const SegmentReader::Item item = reader.Next();
  const bool reads = item == SegmentReader::Item::kRecord || item == SegmentReader::Item::kMark;
  if (!reads && !reader.SkipToAny()) return false;
  stop.gap.to = kSegmentHeaderSize;
  return true;
}

void WalScan::ReadRecord(const SegmentReader& reader, const FoundSegment& segment) {
  const Lsn lsn = next_ == 0 ? 0 : next_++;
  Record record;
  const Frame& frame = reader.frame();
  const Status status = codec_.Decode(frame.record, frame.body, record);
  if (status.ok()) {
    ++segments_.back().records;
    visit_(record, segment.number);
    return;
  }
  const std::uint64_t to = reader.offset() + frame.size;
  gaps_.push_back(
      {segment.path, reader.offset(), to, status.message(), false, 1, stops_.empty() ? lsn : 0});
}

// Notes the unreadable part and goes on behind it. False: nothing readable follows.
bool WalScan::PassOver(SegmentReader& reader, SegmentReader::Item item,
                       const FoundSegment& segment) {
  Stop& stop =
      StopAt(segment.path, segment.number, reader.offset(), segment.size, "it cannot be read");
  stop.readable = item == SegmentReader::Item::kEnd;
  stop.certain = reader.SkipToAny();
  if (stop.certain) {
    stop.gap.to = reader.next();
    return true;
  }
  if (reader.offset() == kSegmentHeaderSize && segment.number < last_begun_) {
    stop.gap.why = "its first mark cannot be read";
    stop.certain = true;
  }
  return false;
}

void WalScan::TakeMark(const Mark& mark, const FoundSegment& segment, std::uint64_t offset) {
  const std::uint64_t missing = next_ != 0 && mark.next > next_ ? mark.next - next_ : 0;
  if (missing > 0 && stops_.empty()) {
    StopAt(segment.path, segment.number, offset, offset + kMarkSize,
           "what should be before it is not there");
  }
  Settle(missing);
  next_ = mark.next;
}

// Distributes the number of records missing since the last mark over the parts that were passed
// over.
void WalScan::Settle(std::uint64_t missing) {
  if (std::ranges::any_of(stops_, &Stop::certain)) {
    std::erase_if(stops_, [](const Stop& stop) { return !stop.certain; });
  } else if (missing == 0) {
    stops_.clear();
  } else {
    stops_.erase(stops_.begin(), stops_.end() - 1);
  }
  const bool one_each = stops_.size() == missing;
  for (std::size_t i = 0; i < stops_.size(); ++i) {
    WalGap& gap = stops_[i].gap;
    const bool last = i + 1 == stops_.size();
    gap.counted = next_ != 0;
    if (one_each) {
      gap.lost = 1;
      gap.first += i;
    } else if (last) {
      gap.lost = missing;
      if (stops_.size() > 1) gap.first = 0;
    }
    gaps_.push_back(std::move(gap));
  }
  stops_.clear();
}

// The number of records missing at the end is known if the state file says how far the log came.
// They were in no segment behind the one that it names, which may be there, prepared and empty.
void WalScan::Finish() {
  if (kept_ && next_ != 0 && kept_->lsn >= next_) {
    std::erase_if(stops_, [this](const Stop& stop) {
      return stop.readable && !stop.certain && stop.segment > kept_->segment;
    });
    Settle(kept_->lsn + 1 - next_);
  }
  ended_ = kept_ && kept_->ended && next_ == kept_->lsn + 1 && last_begun_ == kept_->segment;
  for (Stop& stop : stops_) {
    if (stop.readable && !stop.certain) continue;
    stop.gap.torn = !stop.certain;
    stop.gap.counted = !stop.certain || ended_;
    if (stop.gap.torn) stop.gap.why = "a write was not finished";
    gaps_.push_back(std::move(stop.gap));
  }
  stops_.clear();
}

// If a broker could start with this log, nothing behind its end was acknowledged.
Status WalScan::Judge() {
  WalRecovery recovery(file_system_, directory_);
  Status status = recovery.Run([](const Record&, std::size_t) { return Status(); });
  if (status.ok()) {
    for (WalGap& gap : gaps_) {
      gap.torn = true;
      gap.why = "a write was not finished";
    }
  } else if (!damaged()) {
    if (status.code() != Code::kCorrupt) return status;
    gaps_.push_back({.path = status.message(), .why = ""});
  }
  return {};
}

}  // namespace gearstalk
