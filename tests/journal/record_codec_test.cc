#include "broker/journal/record_codec.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

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

// Every field, as one kind or another has it.
std::vector<Record> AllFields(std::span<const std::string_view> policy) {
  Record put = SomePut();
  put.unique_is_body = true;
  put.state = Record::State::kBuried;
  put.burial = 7;
  put.counters = {1, 2, 3, 4, 5, 6};
  put.reducer = "sum";
  put.failure = {
      3, true, Record::Cause::kException, "no such file", "mail", 1'700'000'001 * kSecond};
  put.expires = 1'700'000'002 * kSecond;
  put.put_key = "order-17";
  put.schedule = {"nightly", 1'700'000'003 * kSecond, 0, 0, 0, false};
  put.transfer = {"old", Record::Held::kSecondPhase, 99, "mark", false};
  Record change = put;
  change.kind = Record::Kind::kChange;
  change.unique_is_body = change.keep_on_failure = false;
  change.unique = change.reducer = change.put_key = change.body = {};
  change.ttr_s = 0;
  change.created = 0;
  change.schedule = {};
  Record tube;
  tube.kind = Record::Kind::kTube;
  tube.tube = "mail";
  tube.settings = {true, {1, 2, 3}, 1'700'000'004 * kSecond, 60};
  tube.policy = policy;
  Record schedule;
  schedule.kind = Record::Kind::kSchedule;
  schedule.id = 5;
  schedule.schedule = {"nightly", 1'700'000'003 * kSecond, 10,  20, 30,
                       true,      1'700'000'001 * kSecond, true};
  Record seen;
  seen.kind = Record::Kind::kSeen;
  seen.id = 6;
  seen.tube = "mail";
  seen.put_key = "order-17";
  seen.seen_until = 1'700'000'005 * kSecond;
  Record mark;
  mark.kind = Record::Kind::kMark;
  mark.transfer = {"old", Record::Held::kNot, 0, "mark", true};
  Record count;
  count.kind = Record::Kind::kCount;
  count.id = 12345;
  count.counters = {1, 2, 3, 4, 5, 6};
  Record end;
  end.kind = Record::Kind::kEnd;
  end.id = 12346;
  return {put, change, tube, schedule, seen, mark, count, end};
}

TEST(RecordCodec, EveryFieldComesBack) {
  const std::string_view settings[] = {"attempts=5", "backoff=10s"};
  for (const Record& record : AllFields(settings)) {
    RecordCodec codec;
    const std::string bytes = Encoded(record);
    Record decoded;
    ASSERT_TRUE(codec.Decode(bytes, record.body, decoded).ok());
    EXPECT_EQ(Encoded(decoded), bytes) << "kind " << int(record.kind);
    EXPECT_EQ(decoded.counters, record.counters);
    EXPECT_EQ(decoded.failure.cause, record.failure.cause);
    EXPECT_EQ(decoded.failure.cause_text, record.failure.cause_text);
    EXPECT_EQ(decoded.failure.origin, record.failure.origin);
    EXPECT_EQ(decoded.failure.attempts, record.failure.attempts);
    EXPECT_EQ(decoded.failure.waits, record.failure.waits);
    EXPECT_EQ(decoded.failure.ended, record.failure.ended);
    EXPECT_EQ(decoded.expires, record.expires);
    EXPECT_EQ(decoded.put_key, record.put_key);
    EXPECT_EQ(decoded.seen_until, record.seen_until);
    EXPECT_EQ(decoded.schedule.name, record.schedule.name);
    EXPECT_EQ(decoded.schedule.planned, record.schedule.planned);
    EXPECT_EQ(decoded.schedule.missed, record.schedule.missed);
    EXPECT_EQ(decoded.schedule.off, record.schedule.off);
    EXPECT_EQ(decoded.schedule.ran, record.schedule.ran);
    EXPECT_EQ(decoded.schedule.left_out, record.schedule.left_out);
    EXPECT_EQ(decoded.transfer.name, record.transfer.name);
    EXPECT_EQ(decoded.transfer.held, record.transfer.held);
    EXPECT_EQ(decoded.transfer.source_id, record.transfer.source_id);
    EXPECT_EQ(decoded.transfer.mark, record.transfer.mark);
    EXPECT_EQ(decoded.transfer.settled, record.transfer.settled);
    EXPECT_TRUE(decoded.settings == record.settings);
    EXPECT_EQ(decoded.policy.size(), record.policy.size());
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

}  // namespace
}  // namespace gearstalk
