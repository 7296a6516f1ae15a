#include "tests/journal/every_kind.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace gearstalk {

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

std::vector<Record> EveryKind() {
  static constexpr std::string_view kPolicy[] = {"attempts=5", "backoff=10s"};
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
  put.group = {"customer-17", "json:/customer"};
  put.home = {"customer-18", "line"};
  put.schedule = {"nightly", 1'700'000'003 * kSecond, 0, 0, 0, false};
  put.transfer = {"old", Record::Held::kSecondPhase, 99, "mark", false};
  Record change = put;
  change.kind = Record::Kind::kChange;
  change.unique_is_body = change.keep_on_failure = false;
  change.unique = change.reducer = change.put_key = change.body = {};
  change.ttr_s = 0;
  change.created = 0;
  change.schedule = {};
  Record deletion;
  deletion.kind = Record::Kind::kDelete;
  deletion.id = 4;
  Record next;
  next.kind = Record::Kind::kNextId;
  next.id = 12345;
  Record tube;
  tube.kind = Record::Kind::kTube;
  tube.tube = "mail";
  tube.settings = {true, {1, 2, 3}, 1'700'000'004 * kSecond, 60};
  tube.policy = kPolicy;
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
  return {put, change, deletion, tube, next, schedule, seen, mark, count, end};
}

void ExpectSame(const Record& is, const Record& wanted) {
  SCOPED_TRACE(static_cast<int>(wanted.kind));
  EXPECT_EQ(is.kind, wanted.kind);
  EXPECT_EQ(is.id, wanted.id);
  EXPECT_EQ(is.state, wanted.state);
  EXPECT_EQ(is.keep_on_failure, wanted.keep_on_failure);
  EXPECT_EQ(is.unique_is_body, wanted.unique_is_body);
  EXPECT_EQ(is.priority, wanted.priority);
  EXPECT_EQ(is.ttr_s, wanted.ttr_s);
  EXPECT_EQ(is.delay_s, wanted.delay_s);
  EXPECT_EQ(is.due, wanted.due);
  EXPECT_EQ(is.created, wanted.created);
  EXPECT_EQ(is.burial, wanted.burial);
  EXPECT_EQ(is.counters, wanted.counters);
  EXPECT_EQ(is.tube, wanted.tube);
  EXPECT_EQ(is.unique, wanted.unique);
  EXPECT_EQ(is.reducer, wanted.reducer);
  EXPECT_EQ(is.body, wanted.body);
  EXPECT_TRUE(is.settings == wanted.settings);
  EXPECT_EQ(is.failure.attempts, wanted.failure.attempts);
  EXPECT_EQ(is.failure.waits, wanted.failure.waits);
  EXPECT_EQ(is.failure.cause, wanted.failure.cause);
  EXPECT_EQ(is.failure.cause_text, wanted.failure.cause_text);
  EXPECT_EQ(is.failure.origin, wanted.failure.origin);
  EXPECT_EQ(is.failure.ended, wanted.failure.ended);
  EXPECT_EQ(is.expires, wanted.expires);
  EXPECT_EQ(is.group.name, wanted.group.name);
  EXPECT_EQ(is.group.source, wanted.group.source);
  EXPECT_EQ(is.home.name, wanted.home.name);
  EXPECT_EQ(is.home.source, wanted.home.source);
  EXPECT_EQ(is.seen_until, wanted.seen_until);
  EXPECT_EQ(is.put_key, wanted.put_key);
  EXPECT_TRUE(std::ranges::equal(is.policy, wanted.policy));
  EXPECT_EQ(is.schedule.name, wanted.schedule.name);
  EXPECT_EQ(is.schedule.planned, wanted.schedule.planned);
  EXPECT_EQ(is.schedule.runs, wanted.schedule.runs);
  EXPECT_EQ(is.schedule.skipped, wanted.schedule.skipped);
  EXPECT_EQ(is.schedule.missed, wanted.schedule.missed);
  EXPECT_EQ(is.schedule.off, wanted.schedule.off);
  EXPECT_EQ(is.schedule.ran, wanted.schedule.ran);
  EXPECT_EQ(is.schedule.left_out, wanted.schedule.left_out);
  EXPECT_EQ(is.transfer.name, wanted.transfer.name);
  EXPECT_EQ(is.transfer.held, wanted.transfer.held);
  EXPECT_EQ(is.transfer.source_id, wanted.transfer.source_id);
  EXPECT_EQ(is.transfer.mark, wanted.transfer.mark);
  EXPECT_EQ(is.transfer.settled, wanted.transfer.settled);
}

}  // namespace gearstalk
