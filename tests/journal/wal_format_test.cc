#include "broker/journal/wal_format.h"

#include <gtest/gtest.h>

#include "broker/journal/wal_reader.h"

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

std::string SomeSegment() {
  std::string bytes(kSegmentHeaderSize, '\0');
  EncodeSegmentHeader(kHeader, bytes.data());
  bytes += MarkAt(bytes.size(), {5, 4, 3});
  bytes += FrameAt(bytes.size(), "one", "body");
  bytes += FrameAt(bytes.size(), "two", "");
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

TEST(WalFormat, NamesSortAsNumbers) {
  EXPECT_EQ(SegmentName(7), "0000000007.wal");
  EXPECT_EQ(SegmentNumber("0000000007.wal"), 7U);
  EXPECT_EQ(SegmentNumber(SegmentName(123'456'789'012)), 123'456'789'012U);
  for (const char* other : {"7.wal", "0000000007", "0000000007.wal.damaged", "000000000x.wal",
                            "spare.tmp", "lock", ".wal", "00000000007.wal"}) {
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
  EXPECT_EQ(reader.frame().record, "one");
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

TEST(WalReader, GoesOnBehindDamage) {
  std::string bytes = SomeSegment();
  const std::size_t one = kSegmentHeaderSize + kMarkSize;
  bytes[one + 20] ^= 1;
  SegmentReader reader(bytes, kHeader);
  reader.Next();
  ASSERT_EQ(reader.Next(), SegmentReader::Item::kBad);
  EXPECT_EQ(reader.Skip(), SegmentReader::Skipped::kRecord);
  EXPECT_EQ(reader.Next(), SegmentReader::Item::kRecord);
  EXPECT_EQ(reader.frame().record, "two");

  bytes[one + 8] ^= 1;  // now its length is wrong, too
  SegmentReader lost(bytes, kHeader);
  lost.Next();
  ASSERT_EQ(lost.Next(), SegmentReader::Item::kBad);
  EXPECT_EQ(lost.Skip(), SegmentReader::Skipped::kUnknown);
  EXPECT_EQ(lost.Next(), SegmentReader::Item::kMark);
  EXPECT_EQ(lost.mark().next, 7U);
}

TEST(WalReader, LaterMarksTellWhatWasDurable) {
  const std::string bytes = SomeSegment();
  EXPECT_TRUE(KnownDurable(bytes, kHeader, kSegmentHeaderSize, 6));
  EXPECT_FALSE(KnownDurable(bytes, kHeader, kSegmentHeaderSize, 7));
  EXPECT_FALSE(KnownDurable(bytes, kHeader, bytes.size() - kMarkSize + 1, 5));
}

}  // namespace
}  // namespace gearstalk
