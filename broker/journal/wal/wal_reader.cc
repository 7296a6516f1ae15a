#include "broker/journal/wal/wal_reader.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace gearstalk {
namespace {

constexpr std::size_t kTagOffset = 8;
// The bytes that may go into checksums of what only looks like a frame, in lengths of a segment.
constexpr std::uint64_t kMostTried = 64;

// Every record begins with its kind: field 1, a small number.
bool LooksLikeRecord(std::string_view frame) {
  return frame.size() > kFrameHeaderSize + 1 && frame[kFrameHeaderSize] == 0x08 &&
         frame[kFrameHeaderSize + 1] > 0;
}

struct FoundMark {
  std::uint64_t offset;
  Mark mark;
};

std::optional<FoundMark> FindMark(std::string_view bytes, const SegmentHeader& header,
                                  std::uint64_t from) {
  std::array<char, sizeof kMarkTag> tag{};
  std::memcpy(tag.data(), &kMarkTag, tag.size());
  const std::string_view wanted(tag.data(), tag.size());
  std::size_t at = bytes.find(wanted, from + kTagOffset);
  for (; at != std::string_view::npos; at = bytes.find(wanted, at + 1)) {
    const std::uint64_t offset = at - kTagOffset;
    const auto mark = DecodeMark(bytes.substr(offset), header.number, header.salt, offset);
    if (mark) return FoundMark{offset, *mark};
  }
  return std::nullopt;
}

}  // namespace

SegmentReader::Item SegmentReader::Next() {
  offset_ = next_;
  const std::string_view rest = bytes_.substr(std::min<std::size_t>(offset_, bytes_.size()));
  if (const auto frame = DecodeFrame(rest, header_.salt, offset_)) {
    frame_ = *frame;
    next_ += frame->size;
    return Item::kRecord;
  }
  if (const auto mark = DecodeMark(rest, header_.number, header_.salt, offset_)) {
    mark_ = *mark;
    next_ += kMarkSize;
    return Item::kMark;
  }
  const std::string_view end = rest.substr(0, kEndSize);
  const bool zero = std::all_of(end.begin(), end.end(), [](char c) { return c == 0; });
  return zero ? Item::kEnd : Item::kBad;
}

bool SegmentReader::SkipToMark() {
  const auto found = FindMark(bytes_, header_, offset_);
  if (found) next_ = found->offset;
  return found.has_value();
}

bool SegmentReader::SkipToAny() {
  std::uint64_t budget = kMostTried * bytes_.size();
  for (std::uint64_t at = offset_ + 1; at + kFrameHeaderSize < bytes_.size(); ++at) {
    const std::string_view rest = bytes_.substr(at);
    const std::size_t size = ClaimedSize(rest);
    if (size == 0) continue;
    const bool mark = IsMark(rest);
    if (!mark && (!LooksLikeRecord(rest) || size > budget)) continue;
    if (!mark) budget -= size;
    const bool readable = mark ? DecodeMark(rest, header_.number, header_.salt, at).has_value()
                               : DecodeFrame(rest, header_.salt, at).has_value();
    if (!readable) continue;
    next_ = at;
    return true;
  }
  return false;
}

bool LastMark(std::string_view bytes, const SegmentHeader& header, Mark& last) {
  SegmentReader reader(bytes, header);
  bool found = false;
  while (true) {
    switch (reader.Next()) {
      case SegmentReader::Item::kMark:
        last = reader.mark();
        found = true;
        break;
      case SegmentReader::Item::kRecord:
        break;
      case SegmentReader::Item::kEnd:
      case SegmentReader::Item::kBad:
        if (!reader.SkipToMark()) return found;
    }
  }
}

bool KnownDurable(std::string_view bytes, const SegmentHeader& header, std::uint64_t from,
                  Lsn lsn) {
  while (const auto found = FindMark(bytes, header, from)) {
    if (found->mark.durable >= lsn) return true;
    from = found->offset + 1;
  }
  return false;
}

}  // namespace gearstalk
