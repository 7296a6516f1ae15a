#include "admin/transfer/convert.h"

#include <algorithm>

namespace gearstalk::transfer {

Record ToRecord(const Job& job) {
  Record record;
  record.kind = Record::Kind::kPut;
  record.id = job.id;
  record.state = job.state == JobState::kDelayed  ? Record::State::kDelayed
                 : job.state == JobState::kBuried ? Record::State::kBuried
                                                  : Record::State::kReady;
  record.priority = job.priority;
  record.ttr_s = job.ttr_s;
  record.delay_s = job.delay_s;
  record.due = job.due;
  record.created = job.created;
  record.burial = job.burial;
  record.counters = {job.reserves, job.timeouts, job.releases,
                     job.buries,   job.kicks,    job.lost_tries};
  record.keep_on_failure = job.keep_on_failure;
  record.unique_is_body = job.unique_is_body;
  record.tube = job.tube;
  record.unique = job.unique;
  record.reducer = job.reducer;
  record.body = job.body;
  record.failure = {.attempts = job.attempts,
                    .waits = job.waits,
                    .cause = job.cause <= static_cast<std::uint32_t>(Record::Cause::kExpired)
                                 ? static_cast<Record::Cause>(job.cause)
                                 : Record::Cause::kNone,
                    .cause_text = job.cause_text,
                    .origin = job.origin,
                    .ended = job.ended};
  record.expires = job.expires;
  record.transfer.held = static_cast<Record::Held>(std::min<std::uint32_t>(job.held, 2));
  record.transfer.source_id = job.source_id;
  return record;
}

Job FromRecord(const Record& record) {
  Job job;
  job.id = record.id;
  job.state = record.state == Record::State::kDelayed  ? JobState::kDelayed
              : record.state == Record::State::kBuried ? JobState::kBuried
                                                       : JobState::kReady;
  job.priority = record.priority;
  job.ttr_s = record.ttr_s;
  job.delay_s = record.delay_s;
  job.due = record.due;
  job.created = record.created;
  job.burial = record.burial;
  job.reserves = record.counters.reserves;
  job.timeouts = record.counters.timeouts;
  job.releases = record.counters.releases;
  job.buries = record.counters.buries;
  job.kicks = record.counters.kicks;
  job.lost_tries = record.counters.lost_tries;
  job.keep_on_failure = record.keep_on_failure;
  job.unique_is_body = record.unique_is_body;
  job.tube = record.tube;
  job.unique = record.unique;
  job.reducer = record.reducer;
  job.body = record.body;
  job.attempts = record.failure.attempts;
  job.waits = record.failure.waits;
  job.cause = static_cast<std::uint32_t>(record.failure.cause);
  job.cause_text = record.failure.cause_text;
  job.origin = record.failure.origin;
  job.ended = record.failure.ended;
  job.expires = record.expires;
  job.held = static_cast<std::uint32_t>(record.transfer.held);
  job.source_id = record.transfer.source_id;
  return job;
}

Tube FromSettings(std::string_view tube, const TubeSettings& settings) {
  return {.tube = std::string(tube),
          .pause_until = settings.pause_until,
          .pause_s = settings.pause_s,
          .high = settings.max_queue[0],
          .normal = settings.max_queue[1],
          .low = settings.max_queue[2],
          .created_function = settings.created_function};
}

Record ToRecord(const Tube& tube) {
  Record record;
  record.kind = Record::Kind::kTube;
  record.tube = tube.tube;
  record.settings.pause_until = tube.pause_until;
  record.settings.pause_s = tube.pause_s;
  record.settings.max_queue = {tube.high, tube.normal, tube.low};
  record.settings.created_function = tube.created_function;
  return record;
}

}  // namespace gearstalk::transfer
