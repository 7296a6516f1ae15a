#include "broker/journal/record_codec.h"

#include <string>

#include "broker/journal/record.pb.h"

namespace gearstalk {
namespace {

constexpr std::uint32_t kKeepOnFailure = 1, kUniqueIsBody = 2, kCreatedFunction = 4;

// Zero is what an absent field means.
template <auto Set>
void Put(stored::Record& out, auto value) {
  if (value != 0) (out.*Set)(value);
}

void FillState(const Record& record, stored::Record& out) {
  using R = stored::Record;
  out.set_state(static_cast<std::uint32_t>(record.state));
  Put<&R::set_priority>(out, record.priority);
  Put<&R::set_delay_s>(out, record.delay_s);
  Put<&R::set_due>(out, record.due);
  Put<&R::set_burial>(out, record.burial);
  Put<&R::set_reserves>(out, record.counters.reserves);
  Put<&R::set_timeouts>(out, record.counters.timeouts);
  Put<&R::set_releases>(out, record.counters.releases);
  Put<&R::set_buries>(out, record.counters.buries);
  Put<&R::set_kicks>(out, record.counters.kicks);
  Put<&R::set_lost_tries>(out, record.counters.lost_tries);
}

void FillJob(const Record& record, stored::Record& out) {
  using R = stored::Record;
  FillState(record, out);
  Put<&R::set_ttr_s>(out, record.ttr_s);
  Put<&R::set_created>(out, record.created);
  Put<&R::set_flags>(out, (record.keep_on_failure ? kKeepOnFailure : 0) |
                              (record.unique_is_body ? kUniqueIsBody : 0));
  out.set_tube(record.tube.data(), record.tube.size());
  if (!record.unique.empty()) out.set_unique(record.unique.data(), record.unique.size());
  if (!record.reducer.empty()) out.set_reducer(record.reducer.data(), record.reducer.size());
}

void FillSettings(const Record& record, stored::Record& out) {
  using R = stored::Record;
  out.set_tube(record.tube.data(), record.tube.size());
  Put<&R::set_flags>(out, record.created_function ? kCreatedFunction : 0);
  Put<&R::set_max_high>(out, record.max_queue[0]);
  Put<&R::set_max_normal>(out, record.max_queue[1]);
  Put<&R::set_max_low>(out, record.max_queue[2]);
  Put<&R::set_pause_until>(out, record.pause_until);
  Put<&R::set_pause_s>(out, record.pause_s);
}

// Kinds, states and flags of a newer version must not be taken for something else.
Status CheckKnown(const stored::Record& message) {
  const auto refuse = [](const char* what, std::uint64_t value) {
    return Status(Code::kInvalid, std::string("a record with ") + what + " " +
                                      std::to_string(value) + ", which this version does not know");
  };
  if (message.kind() < 1 || message.kind() > 5) return refuse("kind", message.kind());
  const auto kind = static_cast<Record::Kind>(message.kind());
  const bool has_state = kind == Record::Kind::kPut || kind == Record::Kind::kChange;
  if (has_state && (message.state() < 1 || message.state() > 3)) {
    return refuse("state", message.state());
  }
  if (message.flags() > 7) return refuse("flags", message.flags());
  if (!message.unknown_fields().empty()) {
    return {Code::kInvalid, "a record with fields that this version does not know"};
  }
  return {};
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
    case Record::Kind::kDelete:
    case Record::Kind::kNextId:
      break;
  }
  const std::size_t size = message.ByteSizeLong();
  message.SerializeWithCachedSizesToArray(reinterpret_cast<std::uint8_t*>(out.Extend(size)));
  return size;
}

Status RecordCodec::Decode(std::string_view bytes, std::string_view body, Record& record) {
  stored::Record& message = *message_;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return {Code::kCorrupt, "bytes that are no record"};
  }
  if (Status known = CheckKnown(message); !known.ok()) return known;
  record.kind = static_cast<Record::Kind>(message.kind());
  record.state =
      message.state() == 0 ? Record::State::kReady : static_cast<Record::State>(message.state());
  record.keep_on_failure = (message.flags() & kKeepOnFailure) != 0;
  record.unique_is_body = (message.flags() & kUniqueIsBody) != 0;
  record.created_function = (message.flags() & kCreatedFunction) != 0;
  record.id = message.id();
  record.priority = message.priority();
  record.ttr_s = message.ttr_s();
  record.delay_s = message.delay_s();
  record.due = message.due();
  record.created = message.created();
  record.burial = message.burial();
  record.counters = {message.reserves(), message.timeouts(), message.releases(),
                     message.buries(),   message.kicks(),    message.lost_tries()};
  record.tube = message.tube();
  record.unique = message.unique();
  record.reducer = message.reducer();
  record.body = body;
  record.max_queue[0] = message.max_high();
  record.max_queue[1] = message.max_normal();
  record.max_queue[2] = message.max_low();
  record.pause_until = message.pause_until();
  record.pause_s = message.pause_s();
  return {};
}

}  // namespace gearstalk
