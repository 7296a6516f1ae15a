#pragma once

#include <cstdint>
#include <random>

#include "broker/base/clock.h"
#include "broker/journal/record.h"

namespace gearstalk {

// Records with fields that need not fit each other.
class AnyRecords {
 public:
  explicit AnyRecords(Time now) : now_(now) {}

  bool Happens(int one_of) { return random_() % static_cast<unsigned>(one_of) == 0; }
  Record Next(bool odd) {
    Record record;
    record.kind = static_cast<Record::Kind>(1 + random_() % 10);
    record.state = static_cast<Record::State>(1 + random_() % 3);
    record.keep_on_failure = Happens(2);
    record.unique_is_body = Happens(8);
    record.id = Number();
    record.priority = Small();
    record.ttr_s = Small();
    record.delay_s = Small();
    record.due = Moment();
    record.created = Moment();
    record.burial = Number();
    record.counters.reserves = Small();
    if (record.kind == Record::Kind::kPut || Happens(2)) record.tube = odd ? "t" : "u";
    if (Happens(3)) record.unique = "k";
    if (record.kind == Record::Kind::kPut) record.body = "body";
    record.failure.attempts = Small();
    record.failure.waits = Happens(4);
    record.failure.cause = static_cast<Record::Cause>(random_() % 8);
    if (Happens(8)) record.failure.cause_text = "damaged";
    if (Happens(3)) record.failure.origin = Happens(2) ? "t" : "origin";
    record.failure.ended = Moment();
    if (Happens(4)) record.expires = Moment();
    if (Happens(3)) record.group = {"body", "line"};
    if (Happens(3)) record.home = {odd ? "body" : "other", "line"};
    record.settings.pause_until = Moment();
    record.settings.pause_s = Small();
    return record;
  }

 private:
  std::uint64_t Number() {
    constexpr std::uint64_t kEdges[] = {0, 1, 2, 3, 5, UINT32_MAX, INT64_MAX, UINT64_MAX};
    return Happens(4) ? kEdges[random_() % 8] : random_() % 8;
  }
  std::uint32_t Small() { return static_cast<std::uint32_t>(Number()); }
  Time Moment() {
    const Time kTimes[] = {0, now_, now_ - kSecond, now_ + kSecond, kNever, kNever - 1, 1};
    return kTimes[random_() % 7];
  }

  const Time now_;
  std::mt19937_64 random_{11};  // NOLINT(cert-msc51-cpp): the same on every run
};

}  // namespace gearstalk
