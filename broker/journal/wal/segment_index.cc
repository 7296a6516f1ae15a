#include "broker/journal/wal/segment_index.h"

#include <xxhash.h>

#include <algorithm>

#include "broker/base/stored_number.h"
#include "broker/journal/record_codec.h"
#include "broker/journal/wal/wal_reader.h"

namespace gearstalk {
namespace {

constexpr std::string_view kIndexMagic = "GSTKIDX\n";
constexpr std::uint32_t kIndexVersion = 2;
constexpr std::uint32_t kFirstIndexVersion = 1;  // which has no hashes
constexpr std::size_t kIndexHeaderSize = 64;
constexpr std::size_t kBlockHeaderSize = 12;
constexpr std::size_t kEntryHeaderSize = 12;
constexpr std::size_t kBlockSize = 64 * 1024;  // a block with more is complete
constexpr std::uint32_t kBodyLeftOut = 1U << 31U;
constexpr std::uint32_t kHashed = 1U << 31U;  // of a body size

// Of a block, without its checksum.
std::uint64_t BlockChecksum(std::string_view block, std::uint64_t salt, std::uint64_t offset) {
  return XXH3_64bits_withSeed(block.data(), block.size(), salt + offset);
}

std::size_t SizeOf(const IndexReader::Entry& entry) {
  return kEntryHeaderSize + entry.record.size() + entry.body.size() + entry.hash.size();
}

class IndexMaker {
 public:
  explicit IndexMaker(const SegmentHeader& header) : header_(header) {
    bytes_.resize(kIndexHeaderSize);
  }

  bool Add(const Frame& frame, std::uint64_t offset) {
    Record record;
    if (frame.body.size() >= kLeastLeftOut &&
        !codec_.Decode(frame.record, frame.body, record).ok()) {
      return false;
    }
    const bool left_out = IsLeftOut(record);
    const bool hashed = left_out && record.unique_is_body;
    if (block_ == 0) BeginBlock();
    std::size_t at = bytes_.size();
    bytes_.resize(at + kEntryHeaderSize);
    Store(bytes_.data() + at, static_cast<std::uint32_t>(offset));
    Store(bytes_.data() + at + 4,
          static_cast<std::uint32_t>(frame.record.size()) | (left_out ? kBodyLeftOut : 0U));
    Store(bytes_.data() + at + 8,
          static_cast<std::uint32_t>(frame.body.size()) | (hashed ? kHashed : 0U));
    bytes_.append(frame.record);
    if (hashed) bytes_.append(View(HashOfBody(frame.body)));
    if (!left_out) bytes_.append(frame.body);
    if (bytes_.size() - block_ >= kBlockSize) EndBlock();
    ++records_;
    return true;
  }

  std::size_t size() const { return bytes_.size(); }
  std::uint64_t records() const { return records_; }

  std::string Finish(Lsn first, std::uint64_t end) {
    if (block_ != 0) EndBlock();
    char* const out = bytes_.data();
    std::copy(kIndexMagic.begin(), kIndexMagic.end(), out);
    Store(out + 8, kIndexVersion);
    Store(out + 12, static_cast<std::uint32_t>(end));
    Store(out + 16, header_.number);
    Store(out + 24, header_.salt);
    Store(out + 32, first);
    Store(out + 40, records_);
    Store(out + 48, std::uint64_t{bytes_.size()});
    Store(out + 56, BlockChecksum({out, 56}, header_.salt, 0));
    return std::move(bytes_);
  }

 private:
  void BeginBlock() {
    block_ = bytes_.size();
    bytes_.resize(block_ + kBlockHeaderSize);
  }

  void EndBlock() {
    char* const block = bytes_.data() + block_;
    const std::size_t size = bytes_.size() - block_;
    Store(block + 8, static_cast<std::uint32_t>(size - kBlockHeaderSize));
    Store(block, BlockChecksum({block + 8, size - 8}, header_.salt, block_));
    block_ = 0;
  }

  const SegmentHeader header_;
  RecordCodec codec_;
  std::string bytes_;
  std::size_t block_ = 0;  // where the block begins that is not complete; 0: there is none
  std::uint64_t records_ = 0;
};

}  // namespace

std::string IndexName(std::uint64_t number) {
  std::string name = SegmentName(number);
  return name.replace(name.find('.'), std::string::npos, ".index");
}

std::uint64_t IndexNumber(std::string_view name) {
  const std::string segment = std::string(name.substr(0, name.find('.'))).append(".wal");
  const std::uint64_t number = SegmentNumber(segment);
  return number != 0 && IndexName(number) == name ? number : 0;
}

std::string MakeIndex(std::string_view segment, const SegmentHeader& header) {
  SegmentReader reader(segment, header);
  if (segment.size() > UINT32_MAX || reader.Next() != SegmentReader::Item::kMark) return {};
  const Lsn first = reader.mark().next;
  IndexMaker maker(header);
  while (true) {
    switch (reader.Next()) {
      case SegmentReader::Item::kMark:
        if (reader.mark().next != first + maker.records()) return {};
        break;
      case SegmentReader::Item::kRecord:
        if (!maker.Add(reader.frame(), reader.offset())) return {};
        if (maker.size() > segment.size() / 2) return {};
        break;
      case SegmentReader::Item::kEnd:
        return maker.Finish(first, reader.offset());
      case SegmentReader::Item::kBad:
        return {};
    }
  }
}

std::optional<IndexReader> IndexReader::Open(std::string_view bytes, const SegmentHeader& header,
                                             std::uint64_t segment_size) {
  if (bytes.size() < kIndexHeaderSize || !bytes.starts_with(kIndexMagic) ||
      Load<std::uint64_t>(bytes, 56) != BlockChecksum(bytes.substr(0, 56), header.salt, 0)) {
    return std::nullopt;
  }
  IndexReader reader;
  reader.bytes_ = bytes;
  reader.end_ = Load<std::uint32_t>(bytes, 12);
  reader.first_ = Load<std::uint64_t>(bytes, 32);
  reader.records_ = Load<std::uint64_t>(bytes, 40);
  reader.next_ = reader.block_end_ = kIndexHeaderSize;
  const auto version = Load<std::uint32_t>(bytes, 8);
  const bool same = version >= kFirstIndexVersion && version <= kIndexVersion &&
                    Load<std::uint64_t>(bytes, 16) == header.number &&
                    Load<std::uint64_t>(bytes, 24) == header.salt &&
                    Load<std::uint64_t>(bytes, 48) == bytes.size() && reader.end_ <= segment_size;
  if (!same || !reader.IsWhole(header.salt)) return std::nullopt;
  return reader;
}

// Whether all blocks are undamaged and hold as many entries as the header says.
bool IndexReader::IsWhole(std::uint64_t salt) const {
  std::uint64_t records = 0;
  for (std::size_t at = kIndexHeaderSize; at < bytes_.size();) {
    if (bytes_.size() - at < kBlockHeaderSize) return false;
    const std::size_t size = Load<std::uint32_t>(bytes_, at + 8);
    if (size > bytes_.size() - at - kBlockHeaderSize) return false;
    const std::string_view block = bytes_.substr(at + 8, 4 + size);
    if (Load<std::uint64_t>(bytes_, at) != BlockChecksum(block, salt, at)) return false;
    at += kBlockHeaderSize + size;
    for (std::string_view rest = block.substr(4); !rest.empty(); ++records) {
      const auto entry = EntryAt(rest);
      if (!entry || entry->offset + entry->bytes > end_) return false;
      rest.remove_prefix(SizeOf(*entry));
    }
  }
  return records == records_;
}

std::optional<IndexReader::Entry> IndexReader::EntryAt(std::string_view bytes) {
  if (bytes.size() < kEntryHeaderSize) return std::nullopt;
  const auto record_word = Load<std::uint32_t>(bytes, 4);
  const auto body_word = Load<std::uint32_t>(bytes, 8);
  const std::size_t record_size = record_word & ~kBodyLeftOut;
  const std::uint32_t body_size = body_word & ~kHashed;
  const bool left_out = (record_word & kBodyLeftOut) != 0;
  const std::size_t hash_size = (body_word & kHashed) != 0 ? sizeof(BodyHash) : 0;
  const std::size_t kept = record_size + (left_out ? hash_size : body_size);
  if (kept > bytes.size() - kEntryHeaderSize || (!left_out && hash_size > 0)) return std::nullopt;
  const std::string_view behind = bytes.substr(kEntryHeaderSize + record_size, kept - record_size);
  return Entry{.offset = Load<std::uint32_t>(bytes, 0),
               .bytes = kFrameHeaderSize + record_size + body_size,
               .record = bytes.substr(kEntryHeaderSize, record_size),
               .body = left_out ? std::string_view() : behind,
               .left_out = left_out ? body_size : 0,
               .hash = left_out ? behind : std::string_view()};
}

bool IndexReader::Next(Entry& entry) {
  if (next_ == bytes_.size()) return false;
  if (next_ == block_end_) {
    block_end_ = next_ + kBlockHeaderSize + Load<std::uint32_t>(bytes_, next_ + 8);
    next_ += kBlockHeaderSize;
  }
  entry = *EntryAt(bytes_.substr(next_, block_end_ - next_));
  next_ += SizeOf(entry);
  return true;
}

}  // namespace gearstalk
