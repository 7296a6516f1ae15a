#include "broker/journal/record_codec.h"

#include <gtest/gtest.h>

#include <string>

namespace gearstalk {
namespace {

std::string Encoded(const Record& record) {
  RecordCodec codec;
  ByteBuffer bytes;
  const std::size_t size = codec.Encode(record, bytes);
  EXPECT_EQ(size, bytes.size());
  return std::string(bytes.view());
}

Record SomePut() {
  Record record;
  record.kind = Record::Kind::kPut;
  record.state = Record::State::kDelayed;
  record.keep_on_failure = true;
  record.id = 12345;
  record.priority = 1024;
  record.ttr_s = 60;
  record.delay_s = 5;
  record.due = 1'700'000'005 * kSecond;
  record.created = 1'700'000'000 * kSecond;
  record.tube = "tube";
  record.unique = "key";
  record.body = "body";
  return record;
}

TEST(RecordCodec, BodyIsNotEncoded) {
  EXPECT_EQ(Encoded(SomePut()).find("body"), std::string::npos);
}

TEST(RecordCodec, MessageOfOneRecordLeavesNothingInTheNext) {
  RecordCodec codec;
  ByteBuffer bytes;
  codec.Encode(SomePut(), bytes);
  bytes.Clear();
  Record record;
  record.kind = Record::Kind::kDelete;
  record.id = 1;
  codec.Encode(record, bytes);
  EXPECT_EQ(bytes.view(), Encoded(record));
  ASSERT_TRUE(codec.Decode(Encoded(SomePut()), "body", record).ok());
  Record deletion;
  ASSERT_TRUE(codec.Decode(bytes.view(), "", deletion).ok());
  EXPECT_EQ(deletion.kind, Record::Kind::kDelete);
  EXPECT_EQ(deletion.tube, "");
  EXPECT_EQ(deletion.priority, 0U);
}

TEST(RecordCodec, DeletionIsShort) {
  Record record;
  record.kind = Record::Kind::kDelete;
  record.id = 1'000'000;
  EXPECT_LE(Encoded(record).size(), 8U);
}

// Field 1 is the kind, field 10 the flags; a varint each.
TEST(RecordCodec, UnknownKindIsRefused) {
  RecordCodec codec;
  Record record;
  for (const char kind : {'\x00', '\x06', '\x7F'}) {
    const Status status = codec.Decode(std::string{'\x08', kind}, "", record);
    EXPECT_EQ(status.code(), Code::kInvalid);
    EXPECT_NE(status.message().find("kind"), std::string::npos) << status.message();
  }
}

TEST(RecordCodec, UnknownStateIsRefused) {
  RecordCodec codec;
  Record record;
  for (const char state : {'\x00', '\x04'}) {
    const Status status = codec.Decode(std::string{'\x08', 1, '\x18', state}, "", record);
    EXPECT_NE(status.message().find("state"), std::string::npos) << status.message();
  }
}

TEST(RecordCodec, UnknownFlagIsRefused) {
  RecordCodec codec;
  Record record;
  const Status status = codec.Decode(std::string{'\x08', 3, '\x50', 8}, "", record);
  EXPECT_NE(status.message().find("flags 8"), std::string::npos) << status.message();
}

TEST(RecordCodec, UnknownFieldIsRefused) {
  RecordCodec codec;
  Record record;
  std::string bytes = Encoded(SomePut());
  bytes += std::string{'\xA0', '\x06', '\x01'};  // field 100
  const Status status = codec.Decode(bytes, "", record);
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_NE(status.message().find("fields"), std::string::npos) << status.message();
  EXPECT_TRUE(codec.Decode(Encoded(SomePut()), "", record).ok());
}

TEST(RecordCodec, OtherBytesAreNoRecord) {
  RecordCodec codec;
  Record record;
  EXPECT_EQ(codec.Decode("\xFF\xFF\xFF", "", record).code(), Code::kCorrupt);
  EXPECT_EQ(codec.Decode("", "", record).code(), Code::kInvalid);
}

}  // namespace
}  // namespace gearstalk
