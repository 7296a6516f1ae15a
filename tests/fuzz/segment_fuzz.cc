// Segment files of the journal. An input is read as a segment as it is, and once more as the
// content of one: items parted by "\xff|", the first byte says what each is. Checksums are put in,
// so that the reader gets past them, and whatever the content, it finds the items again in order.
//
//   f  N TEXT   a frame: the first N bytes of TEXT are the record, the rest is the body
//   m  TEXT     a mark
//   x  TEXT     bytes that are neither; the reader stops there and goes on at the next mark

#include <algorithm>
#include <string>
#include <vector>

#include "broker/journal/record_codec.h"
#include "broker/journal/wal/wal_format.h"
#include "broker/journal/wal/wal_reader.h"
#include "tests/fuzz/fuzz.h"

namespace gearstalk {
namespace {

constexpr std::string_view kSeparator = "\xff|";
constexpr SegmentHeader kHeader{kWalVersion, 7, 0x1234567890abcdef};

using Item = SegmentReader::Item;

struct Expected {
  Item item;
  std::uint64_t offset;
};

void DecodeRecord(const Frame& frame) {
  static RecordCodec codec;
  Record record;
  if (!codec.Decode(frame.record, frame.body, record).ok()) return;
  // What was read is what is written, and stays so.
  ByteBuffer bytes, again;
  codec.Encode(record, bytes);
  const Status status = codec.Decode(bytes.view(), frame.body, record);
  GS_CHECK(status.ok());
  codec.Encode(record, again);
  GS_CHECK(again.view() == bytes.view());
}

// Reads to the end and over it as recovery does.
std::vector<Expected> ReadAll(std::string_view bytes, const SegmentHeader& header) {
  std::vector<Expected> items;
  SegmentReader reader(bytes, header);
  for (;;) {
    const Item item = reader.Next();
    items.push_back({item, reader.offset()});
    if (item == Item::kRecord) {
      GS_CHECK(Inside(reader.frame().record, bytes) && Inside(reader.frame().body, bytes));
      DecodeRecord(reader.frame());
    }
    if (item == Item::kEnd || item == Item::kBad) {
      if (!reader.SkipToMark()) return items;
    }
  }
}

class SegmentBuilder {
 public:
  SegmentBuilder() : bytes_(kSegmentHeaderSize, '\0') {
    EncodeSegmentHeader(kHeader, bytes_.data());
  }

  void Add(std::string_view step) {
    const std::string_view text = step.substr(1);
    if (step.front() == 'f' && text.size() >= 2) AddFrame(text);
    if (step.front() == 'm') AddMark(text);
    if (step.front() == 'x') Damage(text);
  }

  const std::string& bytes() const { return bytes_; }
  // Those before the first damage.
  const std::vector<Expected>& items() const { return items_; }

 private:
  void AddFrame(std::string_view text) {
    const auto want = static_cast<std::uint32_t>(static_cast<unsigned char>(text.front())) + 1;
    text.remove_prefix(1);
    const std::uint32_t record = std::min(want, static_cast<std::uint32_t>(text.size()));
    const std::uint64_t offset = bytes_.size();
    bytes_.append(kFrameHeaderSize, '\0').append(text);
    SealFrame(bytes_.data() + offset, record, static_cast<std::uint32_t>(text.size()) - record,
              kHeader.salt, offset);
    Expect(Item::kRecord, offset);
  }

  void AddMark(std::string_view text) {
    const std::uint64_t offset = bytes_.size();
    const Mark mark{text.size(), text.size() / 2, kHeader.number};
    bytes_.append(kMarkSize, '\0');
    EncodeMark(mark, kHeader.number, kHeader.salt, offset, bytes_.data() + offset);
    Expect(Item::kMark, offset);
  }

  void Damage(std::string_view text) {
    whole_ = false;
    bytes_ += text;
  }

  void Expect(Item item, std::uint64_t offset) {
    if (whole_) items_.push_back({item, offset});
  }

  std::string bytes_;
  std::vector<Expected> items_;
  bool whole_ = true;
};

void CheckBuilt(std::string_view script) {
  SegmentBuilder segment;
  while (!script.empty()) {
    const std::string_view step = script.substr(0, script.find(kSeparator));
    if (!step.empty()) segment.Add(step);
    script.remove_prefix(std::min(step.size() + kSeparator.size(), script.size()));
  }
  SegmentHeader header;
  const Status status = DecodeSegmentHeader(segment.bytes(), header);
  GS_CHECK(status.ok());
  const std::vector<Expected> found = ReadAll(segment.bytes(), header);
  GS_CHECK(found.size() > segment.items().size());
  for (std::size_t i = 0; i < segment.items().size(); ++i) {
    GS_CHECK(found[i].item == segment.items()[i].item);
    GS_CHECK(found[i].offset == segment.items()[i].offset);
  }
}

}  // namespace
}  // namespace gearstalk

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gearstalk;
  const std::string_view bytes = AsBytes(data, size);
  SegmentHeader header = kHeader;
  if (!DecodeSegmentHeader(bytes, header).ok()) header = kHeader;
  ReadAll(bytes, header);
  KnownDurable(bytes, header, 0, 1);
  DecodeRecord({bytes, {}, size});
  CheckBuilt(bytes);
  return 0;
}
