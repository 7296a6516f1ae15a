#include "broker/replica/batch.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "broker/replica/batch_writer.h"

namespace gearstalk {
namespace {

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    text += two;
  }
  return text;
}

PartHeader Example() {
  PartHeader header;
  header.flags = PartHeader::kMore | PartHeader::kBarrier;
  header.seq = 0x0102030405060708;
  header.epoch = 7;
  header.position = 1000;
  header.records = 3;
  header.segment = 12;
  header.wall = 1'700'000'000 * kSecond;
  header.oldest = 99;
  return header;
}

// The layout of format 1, byte for byte: never changed, later formats get examples of their own.
TEST(Part, IsStoredAsFormat1SaysIt) {
  PartHeader header = Example();
  const std::string part = EncodePart(header, "payload", 0x1122334455667788);
  EXPECT_EQ(Hex(part.substr(0, 56)),
            "47535442"          // GSTB
            "01000300"          // format, flags
            "0807060504030201"  // seq
            "0700000000000000"  // epoch
            "e803000000000000"  // position
            "030000000c000000"  // records, segment
            "00002a36fe9c9717"  // wall
            "6300000000000000");
  EXPECT_EQ(Hex(part.substr(56, 8)), "25c65524f2fb3d7c");
  EXPECT_EQ(part.substr(64), "payload");
}

TEST(Part, ComesBackAsItWas) {
  PartHeader header = Example();
  const std::string part = EncodePart(header, "payload", 5);
  PartHeader read;
  std::string_view payload;
  ASSERT_TRUE(DecodePart(part, read, payload).ok());
  EXPECT_EQ(payload, "payload");
  EXPECT_EQ(read.flags, header.flags);
  EXPECT_EQ(read.seq, header.seq);
  EXPECT_EQ(read.epoch, header.epoch);
  EXPECT_EQ(read.position, header.position);
  EXPECT_EQ(read.records, header.records);
  EXPECT_EQ(read.segment, header.segment);
  EXPECT_EQ(read.wall, header.wall);
  EXPECT_EQ(read.oldest, header.oldest);
  EXPECT_EQ(read.chain, header.chain);
  EXPECT_TRUE(ChainFits(part, read, 5));
  EXPECT_FALSE(ChainFits(part, read, 6));
}

TEST(Part, EveryFlippedBitIsFound) {
  PartHeader header = Example();
  const std::string part = EncodePart(header, "payload", 5);
  for (std::size_t bit = 0; bit < part.size() * 8; ++bit) {
    std::string bad = part;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    PartHeader read;
    std::string_view payload;
    const bool found = !DecodePart(bad, read, payload).ok() || !ChainFits(bad, read, 5);
    EXPECT_TRUE(found) << bit;
  }
}

TEST(Part, OfANewerFormatIsRefusedByName) {
  PartHeader header = Example();
  std::string part = EncodePart(header, "", 0);
  part[4] = 2;
  std::string_view payload;
  const Status status = DecodePart(part, header, payload);
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_EQ(status.message(), "batch format 2; this gearstalkd reads up to 1");
}

TEST(BatchWriter, IsReadyUntilTheLastPartOfABatchIsCommitted) {
  BatchWriter writer;
  writer.Begin(1, 1, 0, 0);
  writer.BeginSegment(1, true);
  Record record;
  record.kind = Record::Kind::kPut;
  record.id = 1;
  record.tube = "t";
  const std::string body(700'000, 'b');
  record.body = body;
  writer.Append(record);
  writer.EndRound();
  for (int part = 1; part <= 3; ++part) {
    ASSERT_TRUE(writer.Ready()) << part;
    EXPECT_EQ(writer.durable(), 0U);
    EXPECT_LE(writer.NextPart(0, 1, false).size(), 256U * 1024);
    writer.OnCommitted();
  }
  EXPECT_FALSE(writer.Ready());
  EXPECT_EQ(writer.durable(), 1U);
  EXPECT_EQ(writer.waiting_bytes(), 0U);
}

TEST(Frame, IsWholeOrNothing) {
  std::string bytes(8, '\0');
  WriteFrameHeader(bytes.data(), 3, 4);
  bytes += "recbody";
  ReplicaFrame frame;
  ASSERT_TRUE(ReadFrame(bytes, frame));
  EXPECT_EQ(frame.record, "rec");
  EXPECT_EQ(frame.body, "body");
  EXPECT_EQ(frame.size, 15U);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ReadFrame(std::string_view(bytes).substr(0, size), frame)) << size;
  }
  EXPECT_FALSE(ReadFrame(std::string(8, '\0'), frame)) << "a record has at least one byte";
}

}  // namespace
}  // namespace gearstalk
