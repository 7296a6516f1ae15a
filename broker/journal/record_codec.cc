#include "broker/journal/record_codec.h"

#include <optional>
#include <string>
#include <type_traits>

#include "broker/journal/record.pb.h"

namespace gearstalk {
namespace {

constexpr std::uint32_t kLastKind = 10, kLastCause = 7, kLastHeld = 2;

// The largest id, LSN or counter that a record may have; arithmetic beyond it cannot overflow.
constexpr std::uint64_t kMostId = std::uint64_t{1} << 62U;
constexpr std::size_t kMostUnique = 64;  // bytes

using R = stored::Record;

// The fields that records have, one a row: what it is in a Record and how a message keeps it. Both
// directions visit them; `record` is const where a message is filled.
void VisitCounters(auto& counters, auto&& visit) {
  visit(counters.reserves, &R::reserves, &R::set_reserves);
  visit(counters.timeouts, &R::timeouts, &R::set_timeouts);
  visit(counters.releases, &R::releases, &R::set_releases);
  visit(counters.buries, &R::buries, &R::set_buries);
  visit(counters.kicks, &R::kicks, &R::set_kicks);
  visit(counters.lost_tries, &R::lost_tries, &R::set_lost_tries);
}

void VisitState(auto& record, auto&& visit) {
  visit(record.state, &R::state, &R::set_state);
  visit(record.priority, &R::priority, &R::set_priority);
  visit(record.delay_s, &R::delay_s, &R::set_delay_s);
  visit(record.due, &R::due, &R::set_due);
  visit(record.burial, &R::burial, &R::set_burial);
  VisitCounters(record.counters, visit);
  visit(record.failure.attempts, &R::attempts, &R::set_attempts);
  visit(record.failure.cause, &R::cause, &R::set_cause);
  visit(record.failure.cause_text, &R::cause_text, &R::mutable_cause_text);
  visit(record.failure.origin, &R::origin, &R::mutable_origin);
  visit(record.failure.ended, &R::ended, &R::set_ended);
  visit(record.expires, &R::expires, &R::set_expires);
  visit(record.group.name, &R::group, &R::mutable_group);
  visit(record.group.source, &R::group_source, &R::mutable_group_source);
  visit(record.home.name, &R::home_group, &R::mutable_home_group);
  visit(record.home.source, &R::home_group_source, &R::mutable_home_group_source);
}

void VisitJob(auto& record, auto&& visit) {
  VisitState(record, visit);
  visit(record.ttr_s, &R::ttr_s, &R::set_ttr_s);
  visit(record.created, &R::created, &R::set_created);
  visit(record.unique, &R::unique, &R::mutable_unique);
  visit(record.reducer, &R::reducer, &R::mutable_reducer);
}

void VisitSettings(auto& settings, auto&& visit) {
  visit(settings.max_queue[0], &R::max_high, &R::set_max_high);
  visit(settings.max_queue[1], &R::max_normal, &R::set_max_normal);
  visit(settings.max_queue[2], &R::max_low, &R::set_max_low);
  visit(settings.pause_until, &R::pause_until, &R::set_pause_until);
  visit(settings.pause_s, &R::pause_s, &R::set_pause_s);
}

// The fields that several kinds share.
void VisitRest(auto& record, auto&& visit) {
  visit(record.tube, &R::tube, &R::mutable_tube);
  visit(record.put_key, &R::put_key, &R::mutable_put_key);
  visit(record.seen_until, &R::seen_until, &R::set_seen_until);
  visit(record.schedule.name, &R::schedule, &R::mutable_schedule);
  visit(record.schedule.planned, &R::planned, &R::set_planned);
  visit(record.schedule.runs, &R::runs, &R::set_runs);
  visit(record.schedule.skipped, &R::skipped, &R::set_skipped);
  visit(record.schedule.missed, &R::missed, &R::set_missed);
  visit(record.transfer.name, &R::transfer, &R::mutable_transfer);
  visit(record.transfer.held, &R::held, &R::set_held);
  visit(record.transfer.source_id, &R::source_id, &R::set_source_id);
  visit(record.transfer.mark, &R::mark, &R::mutable_mark);
}

// Bits of `flags`.
constexpr void VisitFlags(auto&& record, auto&& visit) {
  visit(record.keep_on_failure, 1U);
  visit(record.unique_is_body, 2U);
  visit(record.settings.created_function, 4U);
  visit(record.failure.waits, 8U);
  visit(record.schedule.off, 16U);
  visit(record.transfer.settled, 32U);
  visit(record.schedule.left_out, 64U);
}

constexpr std::uint32_t AllFlags() {
  std::uint32_t all = 0;
  VisitFlags(Record(), [&](bool /*flag*/, std::uint32_t bit) { all |= bit; });
  return all;
}

// Zero is what an absent field means.
struct Fill {
  R& out;
  template <typename T>
  void operator()(const T& field, auto /*get*/, auto set) const {
    if constexpr (std::is_same_v<T, std::string_view>) {
      if (!field.empty()) (out.*set)()->assign(field);
    } else if constexpr (std::is_enum_v<T>) {
      if (field != T{}) (out.*set)(static_cast<std::uint32_t>(field));
    } else {
      if (field != 0) (out.*set)(field);
    }
  }
};

// Texts are views of the message.
struct Take {
  const R& message;
  template <typename T>
  void operator()(T& field, auto get, auto /*set*/) const {
    field = static_cast<T>((message.*get)());
  }
};

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
  if ((message.flags() & ~AllFlags()) != 0) return refuse("flags", message.flags());
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

}  // namespace

// Of a record with a good checksum they are damage below it.
Status CheckSense(const Record& record) {
  if (record.id > kMostId) return Senseless("id", std::to_string(record.id));
  if (record.kind == Record::Kind::kPut && record.id == 0) return Senseless("id", "0");
  if (record.burial > kMostId) return Senseless("burial", std::to_string(record.burial));
  for (const Time time :
       {record.due, record.created, record.settings.pause_until, record.failure.ended,
        record.expires, record.schedule.planned, record.seen_until}) {
    if (time < 0) return Senseless("time", std::to_string(time));
  }
  if (record.unique.size() > kMostUnique) {
    return Senseless("a unique key of", std::to_string(record.unique.size()) + " bytes");
  }
  return {};
}

RecordCodec::RecordCodec() : message_(std::make_unique<stored::Record>()) {}
RecordCodec::~RecordCodec() = default;

std::size_t RecordCodec::Encode(const Record& record, ByteBuffer& out) {
  stored::Record& message = *message_;
  const Fill fill{message};
  message.Clear();
  message.set_kind(static_cast<std::uint32_t>(record.kind));
  message.set_id(record.id);
  switch (record.kind) {
    case Record::Kind::kPut:
      VisitJob(record, fill);
      break;
    case Record::Kind::kChange:
      VisitState(record, fill);
      break;
    case Record::Kind::kTube:
      VisitSettings(record.settings, fill);
      for (const std::string_view setting : record.policy) {
        message.add_policy(setting.data(), setting.size());
      }
      break;
    case Record::Kind::kCount:
      VisitCounters(record.counters, fill);
      break;
    case Record::Kind::kDelete:
    case Record::Kind::kNextId:
    case Record::Kind::kSchedule:
    case Record::Kind::kSeen:
    case Record::Kind::kMark:
    case Record::Kind::kEnd:
      break;
  }
  VisitRest(record, fill);
  if (record.schedule.ran.has_value()) message.set_ran(*record.schedule.ran);
  std::uint32_t flags = 0;
  VisitFlags(record, [&](bool flag, std::uint32_t bit) { flags |= flag ? bit : 0U; });
  if (flags != 0) message.set_flags(flags);
  const std::size_t size = message.ByteSizeLong();
  message.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(out.Extend(size)));
  return size;
}

Status RecordCodec::Decode(std::string_view bytes, std::string_view body, Record& record) {
  stored::Record& message = *message_;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return {Code::kCorrupt, "bytes that are not a record"};
  }
  GS_TRY(CheckKnown(message));
  record.kind = static_cast<Record::Kind>(message.kind());
  record.id = message.id();
  record.body = body;
  const Take take{message};
  VisitJob(record, take);
  VisitSettings(record.settings, take);
  VisitRest(record, take);
  VisitFlags(record, [&](bool& flag, std::uint32_t bit) { flag = (message.flags() & bit) != 0; });
  if (message.state() == 0) record.state = Record::State::kReady;
  record.schedule.ran = message.has_ran() ? std::optional<Time>(message.ran()) : std::nullopt;
  policy_.assign(message.policy().begin(), message.policy().end());
  record.policy = policy_;
  return CheckSense(record);
}

}  // namespace gearstalk
