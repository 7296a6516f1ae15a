#include "broker/journal/record_codec.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/journal/every_kind.h"

namespace gearstalk {
namespace {

std::string Encoded(const Record& record) {
  RecordCodec codec;
  ByteBuffer bytes;
  const std::size_t size = codec.Encode(record, bytes);
  EXPECT_EQ(size, bytes.size());
  return std::string(bytes.view());
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
  for (const char kind : {'\x00', '\x0B', '\x7F'}) {
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
  const Status status = codec.Decode(std::string{'\x08', 3, '\x50', '\x80', 1}, "", record);
  EXPECT_NE(status.message().find("flags 128"), std::string::npos) << status.message();
}

TEST(RecordCodec, UnknownCauseOrHoldIsRefused) {
  RecordCodec codec;
  Record record = SomePut(), decoded;
  record.failure.cause = static_cast<Record::Cause>(99);
  const Status cause = codec.Decode(Encoded(record), "", decoded);
  EXPECT_EQ(cause.code(), Code::kInvalid);
  EXPECT_NE(cause.message().find("cause 99"), std::string::npos) << cause.message();
  record = SomePut();
  record.transfer.held = static_cast<Record::Held>(99);
  const Status held = codec.Decode(Encoded(record), "", decoded);
  EXPECT_EQ(held.code(), Code::kInvalid);
  EXPECT_NE(held.message().find("held 99"), std::string::npos) << held.message();
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

TEST(RecordCodec, EveryFieldComesBack) {
  for (const Record& record : EveryKind()) {
    RecordCodec codec;
    const std::string bytes = Encoded(record);
    Record decoded;
    ASSERT_TRUE(codec.Decode(bytes, record.body, decoded).ok());
    EXPECT_EQ(Encoded(decoded), bytes) << "kind " << int(record.kind);
    ExpectSame(decoded, record);
  }
}

TEST(RecordCodec, WhatNoBrokerWritesIsDamage) {
  const auto refused = [](const Record& record) {
    RecordCodec codec;
    Record decoded;
    return codec.Decode(Encoded(record), record.body, decoded).code() == Code::kCorrupt;
  };
  EXPECT_FALSE(refused(SomePut()));
  const std::string long_key(65, 'k');
  Record record = SomePut();
  record.unique = long_key;
  EXPECT_TRUE(refused(record));
  for (const std::uint64_t id : {std::uint64_t{0}, UINT64_MAX, UINT64_MAX - 1}) {
    record = SomePut();
    record.id = id;
    EXPECT_TRUE(refused(record)) << id;
  }
  record = SomePut();
  record.created = INT64_MIN;
  EXPECT_TRUE(refused(record));
  record = SomePut();
  record.burial = UINT64_MAX;
  EXPECT_TRUE(refused(record));
  Record next;
  next.kind = Record::Kind::kNextId;
  next.id = UINT64_MAX;
  EXPECT_TRUE(refused(next));
}

// Gearman clients may submit to a function whose name is empty.
TEST(RecordCodec, AnEmptyNameOfATubeComesBack) {
  Record record = SomePut();
  record.tube = {};
  Record decoded;
  ASSERT_TRUE(RecordCodec().Decode(Encoded(record), record.body, decoded).ok());
  EXPECT_EQ(decoded.tube, "");
  EXPECT_EQ(decoded.id, record.id);
}

TEST(RecordCodec, OtherBytesAreNoRecord) {
  RecordCodec codec;
  Record record;
  EXPECT_EQ(codec.Decode("\xFF\xFF\xFF", "", record).code(), Code::kCorrupt);
  EXPECT_EQ(codec.Decode("", "", record).code(), Code::kInvalid);
}

// Settings that are those of any tube are not stored.
TEST(Record, SettingsAndCountersDifferIfOneFieldDoes) {
  const TubeSettings none;
  EXPECT_EQ(none, TubeSettings());
  for (const TubeSettings& other :
       {TubeSettings{true, {}, 0, 0}, TubeSettings{false, {1, 0, 0}, 0, 0},
        TubeSettings{false, {0, 0, 1}, 0, 0}, TubeSettings{false, {}, 1, 0},
        TubeSettings{false, {}, 0, 1}}) {
    EXPECT_FALSE(other == none);
  }
  using Counters = Record::Counters;
  for (const Counters& other :
       {Counters{1, 0, 0, 0, 0, 0}, Counters{0, 1, 0, 0, 0, 0}, Counters{0, 0, 1, 0, 0, 0},
        Counters{0, 0, 0, 1, 0, 0}, Counters{0, 0, 0, 0, 1, 0}, Counters{0, 0, 0, 0, 0, 1}}) {
    EXPECT_FALSE(other == Counters());
  }
  EXPECT_TRUE(Counters() == Counters());
}

}  // namespace
}  // namespace gearstalk
