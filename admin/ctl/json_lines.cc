#include "admin/ctl/json_lines.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "broker/base/base64.h"
#include "broker/base/utf8.h"

namespace gearstalk::ctl {
namespace {

using Json = nlohmann::ordered_json;

// By the numbers of the journal, which knows no reserved jobs.
constexpr std::array<const char*, 5> kStates = {"", "ready", "delayed", "buried", "reserved"};
constexpr std::ptrdiff_t kReserved = 4;

template <typename Value>
void Set(Json& json, const char* name, Value value) {
  if (value != Value{}) json[name] = value;
}

// By the numbers of the journal.
constexpr std::array<std::string_view, 8> kCauses = {"",     "failed",   "exception", "timeout",
                                                     "lost", "released", "buried",    "expired"};

// As text, or in base64 if it is no UTF-8.
void SetBytes(Json& json, const char* name, std::string_view bytes, bool always = false) {
  if (bytes.empty() && !always) return;
  if (IsUtf8(bytes)) {
    json[name] = bytes;
  } else {
    json[std::string(name) + "_base64"] = ToBase64(bytes);
  }
}

std::string Dump(const Json& json) { return json.dump() + "\n"; }

template <typename Value>
bool Get(const nlohmann::json& json, const char* name, Value& value) {
  const auto found = json.find(name);
  if (found == json.end()) return true;
  if constexpr (std::is_same_v<Value, bool>) {
    if (!found->is_boolean()) return false;
  } else {
    // Numbers in JSON are unbounded; the broker's are not.
    if (!found->is_number_integer()) return false;
    const bool fits = found->is_number_unsigned()
                          ? std::in_range<Value>(found->template get<std::uint64_t>())
                          : std::in_range<Value>(found->template get<std::int64_t>());
    if (!fits) return false;
  }
  value = found->template get<Value>();
  return true;
}

bool GetBytes(const nlohmann::json& json, const char* name, std::string& bytes) {
  bytes.clear();
  if (const auto text = json.find(name); text != json.end()) {
    if (!text->is_string()) return false;
    bytes = text->get<std::string>();
    return true;
  }
  const auto coded = json.find(std::string(name) + "_base64");
  if (coded == json.end()) return true;
  const auto* const text = coded->get_ptr<const std::string*>();
  std::optional<std::string> decoded = text == nullptr ? std::nullopt : FromBase64(*text);
  if (decoded) bytes = std::move(*decoded);
  return decoded.has_value();
}

}  // namespace

std::string JobsHeadLine(Time made) {
  Json json;
  json["gearstalk_jobs"] = 1;
  json["made_ns"] = made;
  return Dump(json);
}

std::string JobsEndLine(std::uint64_t jobs, std::uint64_t next_id) {
  Json json;
  json["end"]["jobs"] = jobs;
  json["end"]["next_id"] = next_id;
  return Dump(json);
}

namespace {

std::string JobLine(const Record& job, bool reserved) {
  Json json;
  json["job"] = job.id;
  SetBytes(json, "tube", job.tube, true);
  json["state"] = kStates[reserved ? kReserved : static_cast<std::size_t>(job.state)];
  Set(json, "priority", job.priority);
  Set(json, "ttr_s", job.ttr_s);
  Set(json, "delay_s", job.delay_s);
  Set(json, "due_ns", job.due);
  Set(json, "created_ns", job.created);
  SetBytes(json, "body", job.body);
  // The unique key "-" of the wire means what the flag says.
  SetBytes(json, "unique", job.unique_is_body ? std::string_view() : job.unique);
  Set(json, "unique_is_body", job.unique_is_body);
  SetBytes(json, "reducer", job.reducer);
  Set(json, "keep_on_failure", job.keep_on_failure);
  Set(json, "reserves", job.counters.reserves);
  Set(json, "timeouts", job.counters.timeouts);
  Set(json, "releases", job.counters.releases);
  Set(json, "buries", job.counters.buries);
  Set(json, "kicks", job.counters.kicks);
  Set(json, "lost_tries", job.counters.lost_tries);
  if (job.state == Record::State::kBuried) Set(json, "burial", job.burial);
  Set(json, "attempts", job.failure.attempts);
  Set(json, "waits", job.failure.waits);
  if (job.failure.cause != Record::Cause::kNone) {
    json["cause"] = kCauses[static_cast<std::size_t>(job.failure.cause)];
  }
  SetBytes(json, "cause_text", job.failure.cause_text);
  SetBytes(json, "origin", job.failure.origin);
  Set(json, "ended_ns", job.failure.ended);
  Set(json, "expires_ns", job.expires);
  return Dump(json);
}

std::string TubeLine(const Record& tube) {
  const TubeSettings& set = tube.settings;
  Json json, settings = Json::object();
  SetBytes(json, "tube", tube.tube, true);
  Set(settings, "pause_until_ns", set.pause_until);
  Set(settings, "pause_s", set.pause_s);
  if (set.max_queue != MaxQueue{}) settings["max_queue"] = set.max_queue;
  Set(settings, "created_function", set.created_function);
  json["settings"] = settings;
  return Dump(json);
}

}  // namespace

std::string LineOf(const Record& record, bool reserved) {
  return record.kind == Record::Kind::kTube ? TubeLine(record) : JobLine(record, reserved);
}

Status JobsLine::Parse(std::string_view line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  const auto bad = [](const char* what) { return Status(Code::kCorrupt, what); };
  if (!json.is_object()) return bad("not a JSON object");
  if (json.contains("job")) return ParseJob(json);
  if (json.contains("settings")) return ParseTube(json);
  if (json.contains("end")) {
    kind_ = Kind::kEnd;
    const nlohmann::json& end = json["end"];
    const bool good = end.is_object() && Get(end, "jobs", jobs_) && Get(end, "next_id", next_id_);
    return good ? Status() : bad("the end line is damaged");
  }
  kind_ = Kind::kHead;
  std::uint64_t version = 0;
  if (!Get(json, "gearstalk_jobs", version) || version == 0) return bad("an unknown line");
  return version == 1 ? Status() : bad("a version of the format that is not known");
}

Status JobsLine::ParseJob(const nlohmann::json& json) {
  kind_ = Kind::kJob;
  record_ = {};
  const auto state = json.find("state");
  const auto known = state == json.end() || !state->is_string()
                         ? kStates.end()
                         : std::find(kStates.begin() + 1, kStates.end(), state->get<std::string>());
  if (known == kStates.end()) return {Code::kCorrupt, "a job without a known state"};
  // Nobody has the job where it is imported.
  const auto place = known - kStates.begin();
  record_.state = place == kReserved ? Record::State::kReady : static_cast<Record::State>(place);
  const bool good = Get(json, "job", record_.id) && Get(json, "priority", record_.priority) &&
                    Get(json, "ttr_s", record_.ttr_s) && Get(json, "delay_s", record_.delay_s) &&
                    Get(json, "due_ns", record_.due) && Get(json, "created_ns", record_.created) &&
                    Get(json, "unique_is_body", record_.unique_is_body) &&
                    Get(json, "keep_on_failure", record_.keep_on_failure) &&
                    Get(json, "reserves", record_.counters.reserves) &&
                    Get(json, "timeouts", record_.counters.timeouts) &&
                    Get(json, "releases", record_.counters.releases) &&
                    Get(json, "buries", record_.counters.buries) &&
                    Get(json, "kicks", record_.counters.kicks) &&
                    Get(json, "lost_tries", record_.counters.lost_tries) &&
                    Get(json, "burial", record_.burial) && GetBytes(json, "tube", name_) &&
                    GetBytes(json, "body", body_) && GetBytes(json, "unique", unique_) &&
                    GetBytes(json, "reducer", reducer_) && !name_.empty() && record_.id > 0;
  if (!good || !ParsePolicy(json))
    return {Code::kCorrupt, "a job with a field that is missing or of another type"};
  if (unique_.size() > 64) return {Code::kCorrupt, "a unique key of more than 64 bytes"};
  record_.tube = name_;
  record_.body = body_;
  record_.unique = unique_;
  record_.reducer = reducer_;
  return {};
}

// What policies keep with the job.
bool JobsLine::ParsePolicy(const nlohmann::json& json) {
  const bool good = Get(json, "attempts", record_.failure.attempts) &&
                    Get(json, "waits", record_.failure.waits) &&
                    Get(json, "ended_ns", record_.failure.ended) &&
                    Get(json, "expires_ns", record_.expires) &&
                    GetBytes(json, "cause_text", cause_text_) && GetBytes(json, "origin", origin_);
  if (const auto cause = json.find("cause"); cause != json.end()) {
    const auto known = cause->is_string()
                           ? std::find(kCauses.begin(), kCauses.end(), cause->get<std::string>())
                           : kCauses.end();
    if (known == kCauses.end()) return false;
    record_.failure.cause = static_cast<Record::Cause>(known - kCauses.begin());
  }
  record_.failure.cause_text = cause_text_;
  record_.failure.origin = origin_;
  return good;
}

Status JobsLine::ParseTube(const nlohmann::json& json) {
  kind_ = Kind::kTube;
  record_ = {};
  record_.kind = Record::Kind::kTube;
  TubeSettings& set = record_.settings;
  const nlohmann::json& settings = json["settings"];
  bool good = settings.is_object() && GetBytes(json, "tube", name_) && !name_.empty() &&
              Get(settings, "pause_until_ns", set.pause_until) &&
              Get(settings, "pause_s", set.pause_s) &&
              Get(settings, "created_function", set.created_function);
  if (const auto limits = settings.find("max_queue"); good && limits != settings.end()) {
    good = limits->is_array() && limits->size() == 3 &&
           std::all_of(limits->begin(), limits->end(),
                       [](const auto& each) { return each.is_number_integer(); });
    if (good) set.max_queue = limits->get<MaxQueue>();
  }
  record_.tube = name_;
  return good ? Status() : Status(Code::kCorrupt, "settings of a tube that cannot be read");
}

}  // namespace gearstalk::ctl
