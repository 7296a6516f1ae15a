#include "broker/journal/record_codec.h"

#include <string>

#include "broker/journal/record.pb.h"

namespace gearstalk {
namespace {

enum Flag : std::uint32_t {
  kKeepOnFailure = 1,
  kUniqueIsBody = 2,
  kCreatedFunction = 4,
  kWaitsForRetry = 8,
  kScheduleIsOff = 16,
  kTransferIsSettled = 32,
  kScheduleLeftOut = 64,
  kAllFlags = 127,
};
constexpr std::uint32_t kLastKind = 10, kLastCause = 7, kLastHeld = 2;

// The largest id, LSN or counter that a record may have; arithmetic beyond it cannot overflow.
constexpr std::uint64_t kMostId = std::uint64_t{1} << 62U;
constexpr std::size_t kMostUnique = 64;  // bytes

// Zero is what an absent field means.
template <auto Set>
void Put(stored::Record& out, auto value) {
  if (value != 0) (out.*Set)(value);
}

template <auto Text>
void PutText(stored::Record& out, std::string_view text) {
  if (!text.empty()) (out.*Text)()->assign(text);
}

using R = stored::Record;

void FillCounters(const Record::Counters& counters, R& out) {
  Put<&R::set_reserves>(out, counters.reserves);
  Put<&R::set_timeouts>(out, counters.timeouts);
  Put<&R::set_releases>(out, counters.releases);
  Put<&R::set_buries>(out, counters.buries);
  Put<&R::set_kicks>(out, counters.kicks);
  Put<&R::set_lost_tries>(out, counters.lost_tries);
}

void FillState(const Record& record, R& out) {
  out.set_state(static_cast<std::uint32_t>(record.state));
  Put<&R::set_priority>(out, record.priority);
  Put<&R::set_delay_s>(out, record.delay_s);
  Put<&R::set_due>(out, record.due);
  Put<&R::set_burial>(out, record.burial);
  FillCounters(record.counters, out);
  const Record::Failure& failure = record.failure;
  Put<&R::set_attempts>(out, failure.attempts);
  Put<&R::set_cause>(out, static_cast<std::uint32_t>(failure.cause));
  PutText<&R::mutable_cause_text>(out, failure.cause_text);
  PutText<&R::mutable_origin>(out, failure.origin);
  Put<&R::set_ended>(out, failure.ended);
  Put<&R::set_expires>(out, record.expires);
}

void FillJob(const Record& record, R& out) {
  FillState(record, out);
  Put<&R::set_ttr_s>(out, record.ttr_s);
  Put<&R::set_created>(out, record.created);
  PutText<&R::mutable_unique>(out, record.unique);
  PutText<&R::mutable_reducer>(out, record.reducer);
}

void FillSettings(const Record& record, R& out) {
  const TubeSettings& settings = record.settings;
  Put<&R::set_max_high>(out, settings.max_queue[0]);
  Put<&R::set_max_normal>(out, settings.max_queue[1]);
  Put<&R::set_max_low>(out, settings.max_queue[2]);
  Put<&R::set_pause_until>(out, settings.pause_until);
  Put<&R::set_pause_s>(out, settings.pause_s);
  for (const std::string_view setting : record.policy) {
    out.add_policy(setting.data(), setting.size());
  }
}

void FillSchedule(const Record& record, R& out) {
  PutText<&R::mutable_schedule>(out, record.schedule.name);
  Put<&R::set_planned>(out, record.schedule.planned);
  Put<&R::set_runs>(out, record.schedule.runs);
  Put<&R::set_skipped>(out, record.schedule.skipped);
  Put<&R::set_missed>(out, record.schedule.missed);
  if (record.schedule.ran.has_value()) out.set_ran(*record.schedule.ran);
}

void FillTransfer(const Record::Transfer& transfer, R& out) {
  PutText<&R::mutable_transfer>(out, transfer.name);
  Put<&R::set_held>(out, static_cast<std::uint32_t>(transfer.held));
  Put<&R::set_source_id>(out, transfer.source_id);
  PutText<&R::mutable_mark>(out, transfer.mark);
}

std::uint32_t FlagsOf(const Record& record) {
  return (record.keep_on_failure ? kKeepOnFailure : 0U) |
         (record.unique_is_body ? kUniqueIsBody : 0U) |
         (record.settings.created_function ? kCreatedFunction : 0U) |
         (record.failure.waits ? kWaitsForRetry : 0U) |
         (record.schedule.off ? kScheduleIsOff : 0U) |
         (record.transfer.settled ? kTransferIsSettled : 0U) |
         (record.schedule.left_out ? kScheduleLeftOut : 0U);
}

// The fields that several kinds share.
void FillRest(const Record& record, R& out) {
  PutText<&R::mutable_tube>(out, record.tube);
  Put<&R::set_flags>(out, FlagsOf(record));
  PutText<&R::mutable_put_key>(out, record.put_key);
  Put<&R::set_seen_until>(out, record.seen_until);
  FillSchedule(record, out);
  FillTransfer(record.transfer, out);
}

bool HasState(const R& message) {
  const auto kind = static_cast<Record::Kind>(message.kind());
  return kind == Record::Kind::kPut || kind == Record::Kind::kChange;
}

// Kinds, states and flags of a newer version must not be taken for something else.
Status CheckKnown(const R& message) {
  const auto refuse = [](const char* what, std::uint64_t value) {
    return Status(Code::kInvalid, std::string("a record with ") + what + " " +
                                      std::to_string(value) + ", which this version does not know");
  };
  if (message.kind() < 1 || message.kind() > kLastKind) return refuse("kind", message.kind());
  if (HasState(message) && (message.state() < 1 || message.state() > 3)) {
    return refuse("state", message.state());
  }
  if (message.flags() > kAllFlags) return refuse("flags", message.flags());
  if (message.cause() > kLastCause) return refuse("cause", message.cause());
  if (message.held() > kLastHeld) return refuse("held", message.held());
  if (!message.unknown_fields().empty()) {
    return {Code::kInvalid, "a record with fields that this version does not know"};
  }
  return {};
}

Status Senseless(const char* what, const std::string& value) {
  return {Code::kCorrupt, std::string("a record with ") + what + " " + value};
}

// Refuses values that no broker writes and the engine could not apply: damage below a good
// checksum.
Status CheckSense(const R& message) {
  const auto kind = static_cast<Record::Kind>(message.kind());
  if (message.id() > kMostId) return Senseless("id", std::to_string(message.id()));
  if (kind == Record::Kind::kPut && message.id() == 0) return Senseless("id", "0");
  if (message.burial() > kMostId) return Senseless("burial", std::to_string(message.burial()));
  for (const std::int64_t time :
       {message.due(), message.created(), message.pause_until(), message.ended(), message.expires(),
        message.planned(), message.seen_until()}) {
    if (time < 0) return Senseless("time", std::to_string(time));
  }
  if (message.unique().size() > kMostUnique) {
    return Senseless("a unique key of", std::to_string(message.unique().size()) + " bytes");
  }
  return {};
}

void TakeFailure(const R& message, Record::Failure& failure) {
  failure.attempts = message.attempts();
  failure.waits = (message.flags() & kWaitsForRetry) != 0;
  failure.cause = static_cast<Record::Cause>(message.cause());
  failure.cause_text = message.cause_text();
  failure.origin = message.origin();
  failure.ended = message.ended();
}

void TakeSchedule(const R& message, Record::Schedule& schedule) {
  schedule.name = message.schedule();
  schedule.planned = message.planned();
  schedule.runs = message.runs();
  schedule.skipped = message.skipped();
  schedule.missed = message.missed();
  schedule.off = (message.flags() & kScheduleIsOff) != 0;
  schedule.left_out = (message.flags() & kScheduleLeftOut) != 0;
  schedule.ran = message.has_ran() ? std::optional<Time>(message.ran()) : std::nullopt;
}

void TakeTransfer(const R& message, Record::Transfer& transfer) {
  transfer.name = message.transfer();
  transfer.held = static_cast<Record::Held>(message.held());
  transfer.source_id = message.source_id();
  transfer.mark = message.mark();
  transfer.settled = (message.flags() & kTransferIsSettled) != 0;
}

void TakeJob(const R& message, Record& record) {
  record.state =
      message.state() == 0 ? Record::State::kReady : static_cast<Record::State>(message.state());
  record.keep_on_failure = (message.flags() & kKeepOnFailure) != 0;
  record.unique_is_body = (message.flags() & kUniqueIsBody) != 0;
  record.priority = message.priority();
  record.ttr_s = message.ttr_s();
  record.delay_s = message.delay_s();
  record.due = message.due();
  record.created = message.created();
  record.burial = message.burial();
  record.counters = {message.reserves(), message.timeouts(), message.releases(),
                     message.buries(),   message.kicks(),    message.lost_tries()};
  record.unique = message.unique();
  record.reducer = message.reducer();
  record.expires = message.expires();
  record.put_key = message.put_key();
  record.seen_until = message.seen_until();
}

void TakeSettings(const R& message, TubeSettings& settings) {
  settings = {.created_function = (message.flags() & kCreatedFunction) != 0,
              .max_queue = {message.max_high(), message.max_normal(), message.max_low()},
              .pause_until = message.pause_until(),
              .pause_s = message.pause_s()};
}

}  // namespace

RecordCodec::RecordCodec() : message_(std::make_unique<stored::Record>()) {}
RecordCodec::~RecordCodec() = default;

std::size_t RecordCodec::Encode(const Record& record, ByteBuffer& out) {
  stored::Record& message = *message_;
  message.Clear();
  message.set_kind(static_cast<std::uint32_t>(record.kind));
  message.set_id(record.id);
  switch (record.kind) {
    case Record::Kind::kPut:
      FillJob(record, message);
      break;
    case Record::Kind::kChange:
      FillState(record, message);
      break;
    case Record::Kind::kTube:
      FillSettings(record, message);
      break;
    case Record::Kind::kCount:
      FillCounters(record.counters, message);
      break;
    case Record::Kind::kDelete:
    case Record::Kind::kNextId:
    case Record::Kind::kSchedule:
    case Record::Kind::kSeen:
    case Record::Kind::kMark:
    case Record::Kind::kEnd:
      break;
  }
  FillRest(record, message);
  const std::size_t size = message.ByteSizeLong();
  message.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(out.Extend(size)));
  return size;
}

Status RecordCodec::Decode(std::string_view bytes, std::string_view body, Record& record) {
  stored::Record& message = *message_;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return {Code::kCorrupt, "bytes that are not a record"};
  }
  if (Status known = CheckKnown(message); !known.ok()) return known;
  if (Status sense = CheckSense(message); !sense.ok()) return sense;
  record.kind = static_cast<Record::Kind>(message.kind());
  record.id = message.id();
  record.tube = message.tube();
  record.body = body;
  TakeJob(message, record);
  TakeSettings(message, record.settings);
  TakeFailure(message, record.failure);
  TakeSchedule(message, record.schedule);
  TakeTransfer(message, record.transfer);
  policy_.assign(message.policy().begin(), message.policy().end());
  record.policy = policy_;
  return {};
}

}  // namespace gearstalk
