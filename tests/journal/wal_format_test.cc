#include "broker/journal/wal/wal_format.h"

#include <gtest/gtest.h>

#include "broker/journal/wal/wal_reader.h"

namespace gearstalk {
namespace {

constexpr SegmentHeader kHeader{kWalVersion, 7, 42};

std::string MarkAt(std::uint64_t offset, const Mark& mark) {
  std::string bytes(kMarkSize, '\0');
  EncodeMark(mark, kHeader.number, kHeader.salt, offset, bytes.data());
  return bytes;
}

std::string FrameAt(std::uint64_t offset, const std::string& record, const std::string& body) {
  std::string bytes = std::string(kFrameHeaderSize, '\0') + record + body;
  SealFrame(bytes.data(), static_cast<std::uint32_t>(record.size()),
            static_cast<std::uint32_t>(body.size()), kHeader.salt, offset);
  return bytes;
}

// Records begin with their kind.
constexpr char kOne[] = "\x08\x01one", kTwo[] = "\x08\x03two";

std::string SomeSegment() {
  std::string bytes(kSegmentHeaderSize, '\0');
  EncodeSegmentHeader(kHeader, bytes.data());
  bytes += MarkAt(bytes.size(), {5, 4, 3});
  bytes += FrameAt(bytes.size(), kOne, "body");
  bytes += FrameAt(bytes.size(), kTwo, "");
  bytes += MarkAt(bytes.size(), {7, 6, 3});
  return bytes;
}

TEST(WalFormat, HeaderComesBack) {
  std::string bytes(kSegmentHeaderSize, '\0');
  EncodeSegmentHeader(kHeader, bytes.data());
  SegmentHeader header;
  ASSERT_TRUE(DecodeSegmentHeader(bytes, header).ok());
  EXPECT_EQ(header.number, 7U);
  EXPECT_EQ(header.salt, 42U);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_EQ(DecodeSegmentHeader(damaged, header).code(), Code::kCorrupt) << bit;
  }
}

TEST(WalFormat, HeadersOfOtherVersionsAreRefused) {
  for (const std::uint32_t version : {0U, kWalVersion + 1, UINT32_MAX}) {
    std::string bytes(kSegmentHeaderSize, '\0');
    EncodeSegmentHeader({version, 7, 42}, bytes.data());
    SegmentHeader header;
    const Status status = DecodeSegmentHeader(bytes, header);
    EXPECT_EQ(status.code(), Code::kInvalid);
    EXPECT_EQ(status.message().find("format version " + std::to_string(version)), 0U);
  }
}

TEST(WalFormat, NamesSortAsNumbers) {
  EXPECT_EQ(SegmentName(7), "0000000007.wal");
  EXPECT_EQ(SegmentNumber("0000000007.wal"), 7U);
  EXPECT_EQ(SegmentNumber(SegmentName(123'456'789'012)), 123'456'789'012U);
  for (const char* other :
       {"7.wal", "0000000007", "0000000007.wal.damaged", "000000000x.wal", "spare.tmp", "lock",
        ".wal", "00000000007.wal", "99999999999999999999.wal", "-000000007.wal"}) {
    EXPECT_EQ(SegmentNumber(other), 0U) << other;
  }
}

TEST(WalReader, WalksTheItems) {
  const std::string bytes = SomeSegment() + std::string(100, '\0');
  SegmentReader reader(bytes, kHeader);
  EXPECT_EQ(reader.Next(), SegmentReader::Item::kMark);
  EXPECT_EQ(reader.mark().next, 5U);
  EXPECT_EQ(reader.mark().durable, 4U);
  EXPECT_EQ(reader.mark().oldest, 3U);
  EXPECT_EQ(reader.Next(), SegmentReader::Item::kRecord);
  EXPECT_EQ(reader.frame().record, kOne);
  EXPECT_EQ(reader.frame().body, "body");
  EXPECT_EQ(reader.Next(), SegmentReader::Item::kRecord);
  EXPECT_EQ(reader.frame().body, "");
  EXPECT_EQ(reader.Next(), SegmentReader::Item::kMark);
  EXPECT_EQ(reader.Next(), SegmentReader::Item::kEnd);
  EXPECT_EQ(reader.Next(), SegmentReader::Item::kEnd);
  EXPECT_FALSE(reader.SkipToMark());
}

TEST(WalReader, ItemsOfAnotherPlaceOrUseAreBad) {
  const std::string bytes = SomeSegment();
  SegmentReader salted(bytes, {kWalVersion, 7, 43});
  EXPECT_EQ(salted.Next(), SegmentReader::Item::kBad);
  const std::string moved =
      bytes.substr(0, kSegmentHeaderSize) + bytes.substr(kSegmentHeaderSize + 1);
  SegmentReader shifted(moved, kHeader);
  EXPECT_EQ(shifted.Next(), SegmentReader::Item::kBad);
  EXPECT_FALSE(shifted.SkipToMark());
}

// Where reading stops.
std::uint64_t ReadableUpTo(std::string_view bytes) {
  SegmentReader reader(bytes, kHeader);
  SegmentReader::Item item = reader.Next();
  while (item == SegmentReader::Item::kMark || item == SegmentReader::Item::kRecord) {
    item = reader.Next();
  }
  return reader.offset();
}

TEST(WalReader, NoCutAndNoFlippedBitIsMisread) {
  const std::string bytes = SomeSegment();
  EXPECT_EQ(ReadableUpTo(bytes), bytes.size());
  for (std::size_t size = kSegmentHeaderSize; size < bytes.size(); ++size) {
    EXPECT_LE(ReadableUpTo(std::string_view(bytes).substr(0, size)), size);
  }
  for (std::size_t bit = 8 * kSegmentHeaderSize; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_LE(ReadableUpTo(damaged), bit / 8) << bit;
  }
}

// In the record, in the sizes, and in the tag of the mark.
TEST(WalReader, GoesOnAtTheNextItemBehindDamage) {
  const std::size_t one = kSegmentHeaderSize + kMarkSize;
  for (const std::size_t at : {one, one + 8, one + 11, one + 12, one + 15, one + 20}) {
    std::string bytes = SomeSegment();
    bytes[at] ^= 1;
    SegmentReader reader(bytes, kHeader);
    reader.Next();
    ASSERT_EQ(reader.Next(), SegmentReader::Item::kBad) << at;
    ASSERT_TRUE(reader.SkipToAny()) << at;
    EXPECT_EQ(reader.Next(), SegmentReader::Item::kRecord);
    EXPECT_EQ(reader.frame().record, kTwo);
    EXPECT_EQ(reader.Next(), SegmentReader::Item::kMark);
  }
  std::string bytes = SomeSegment();
  bytes[kSegmentHeaderSize + 8] ^= 1;
  SegmentReader reader(bytes, kHeader);
  ASSERT_EQ(reader.Next(), SegmentReader::Item::kBad);
  ASSERT_TRUE(reader.SkipToAny());
  EXPECT_EQ(reader.Next(), SegmentReader::Item::kRecord);
  EXPECT_EQ(reader.frame().record, kOne);
  reader.Next();
  reader.Next();
  ASSERT_EQ(reader.Next(), SegmentReader::Item::kEnd);
  EXPECT_FALSE(reader.SkipToAny());
}

// Bytes that claim to be large frames at every place: few of them are tried, and what follows is
// still found.
TEST(WalReader, LookAlikesAreNotTriedWithoutEnd) {
  std::string bytes(kSegmentHeaderSize, '\0');
  EncodeSegmentHeader(kHeader, bytes.data());
  for (int i = 0; i < 500; ++i) {
    std::string look_alike = FrameAt(bytes.size(), kOne, std::string(80'000, 'b'));
    look_alike[0] = static_cast<char>(look_alike[0] ^ 1);
    bytes += look_alike.substr(0, kFrameHeaderSize + sizeof kOne);
  }
  const std::uint64_t mark = bytes.size();
  bytes += MarkAt(mark, {5, 4, 3});
  bytes += FrameAt(bytes.size(), kTwo, "");
  bytes += std::string(100'000, '\0');
  SegmentReader reader(bytes, kHeader);
  ASSERT_EQ(reader.Next(), SegmentReader::Item::kBad);
  ASSERT_TRUE(reader.SkipToAny());
  EXPECT_EQ(reader.Next(), SegmentReader::Item::kMark);
  EXPECT_EQ(reader.offset(), mark);
  EXPECT_EQ(reader.Next(), SegmentReader::Item::kRecord);
}

TEST(WalFormat, StateComesBackOrIsDamaged) {
  const JournalState state{7, 1234, 99, 3, true};
  std::string bytes(kStateSize, '\0');
  EncodeState(state, bytes.data());
  JournalState read;
  ASSERT_TRUE(DecodeState(bytes, read).ok());
  EXPECT_EQ(read.segment, 7U);
  EXPECT_EQ(read.lsn, 1234U);
  EXPECT_EQ(read.next_id, 99U);
  EXPECT_EQ(read.starts, 3U);
  EXPECT_TRUE(read.ended);
  EXPECT_EQ(DecodeState(bytes + "x", read).code(), Code::kCorrupt);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_EQ(DecodeState(damaged, read).code(), Code::kCorrupt) << bit;
    EXPECT_EQ(DecodeState(bytes.substr(0, bit / 8), read).code(), Code::kCorrupt);
  }
}

TEST(WalReader, LaterMarksTellWhatWasDurable) {
  const std::string bytes = SomeSegment();
  EXPECT_TRUE(KnownDurable(bytes, kHeader, kSegmentHeaderSize, 6));
  EXPECT_FALSE(KnownDurable(bytes, kHeader, kSegmentHeaderSize, 7));
  EXPECT_FALSE(KnownDurable(bytes, kHeader, bytes.size() - kMarkSize + 1, 5));
}

}  // namespace
}  // namespace gearstalk
