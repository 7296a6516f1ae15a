#include "admin/ctl/json_lines.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "broker/base/base64.h"
#include "broker/base/utf8.h"

namespace gearstalk::ctl {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 5> kStates = {"", "ready", "delayed", "buried", "reserved"};

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

std::string JobLine(const transfer::Job& job) {
  Json json;
  json["job"] = job.id;
  SetBytes(json, "tube", job.tube, true);
  json["state"] = kStates[static_cast<std::size_t>(job.state)];
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
  Set(json, "reserves", job.reserves);
  Set(json, "timeouts", job.timeouts);
  Set(json, "releases", job.releases);
  Set(json, "buries", job.buries);
  Set(json, "kicks", job.kicks);
  Set(json, "lost_tries", job.lost_tries);
  if (job.state == transfer::JobState::kBuried) Set(json, "burial", job.burial);
  Set(json, "attempts", job.attempts);
  Set(json, "waits", job.waits);
  if (job.cause > 0 && job.cause < kCauses.size()) json["cause"] = kCauses[job.cause];
  SetBytes(json, "cause_text", job.cause_text);
  SetBytes(json, "origin", job.origin);
  Set(json, "ended_ns", job.ended);
  Set(json, "expires_ns", job.expires);
  return Dump(json);
}

std::string TubeLine(const transfer::Tube& tube) {
  Json json, settings = Json::object();
  SetBytes(json, "tube", tube.tube, true);
  Set(settings, "pause_until_ns", tube.pause_until);
  Set(settings, "pause_s", tube.pause_s);
  if (tube.high != 0 || tube.normal != 0 || tube.low != 0) {
    settings["max_queue"] = {tube.high, tube.normal, tube.low};
  }
  Set(settings, "created_function", tube.created_function);
  json["settings"] = settings;
  return Dump(json);
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
  job_ = {};
  const auto state = json.find("state");
  const auto known = state == json.end() || !state->is_string()
                         ? kStates.end()
                         : std::find(kStates.begin() + 1, kStates.end(), state->get<std::string>());
  if (known == kStates.end()) return {Code::kCorrupt, "a job without a known state"};
  job_.state = static_cast<transfer::JobState>(known - kStates.begin());
  const bool good = Get(json, "job", job_.id) && Get(json, "priority", job_.priority) &&
                    Get(json, "ttr_s", job_.ttr_s) && Get(json, "delay_s", job_.delay_s) &&
                    Get(json, "due_ns", job_.due) && Get(json, "created_ns", job_.created) &&
                    Get(json, "unique_is_body", job_.unique_is_body) &&
                    Get(json, "keep_on_failure", job_.keep_on_failure) &&
                    Get(json, "reserves", job_.reserves) && Get(json, "timeouts", job_.timeouts) &&
                    Get(json, "releases", job_.releases) && Get(json, "buries", job_.buries) &&
                    Get(json, "kicks", job_.kicks) && Get(json, "lost_tries", job_.lost_tries) &&
                    Get(json, "burial", job_.burial) && GetBytes(json, "tube", name_) &&
                    GetBytes(json, "body", body_) && GetBytes(json, "unique", unique_) &&
                    GetBytes(json, "reducer", reducer_) && !name_.empty() && job_.id > 0;
  if (!good || !ParsePolicy(json))
    return {Code::kCorrupt, "a job with a field that is missing or of another type"};
  if (unique_.size() > 64) return {Code::kCorrupt, "a unique key of more than 64 bytes"};
  job_.tube = name_;
  job_.body = body_;
  job_.unique = unique_;
  job_.reducer = reducer_;
  return {};
}

// What policies keep with the job.
bool JobsLine::ParsePolicy(const nlohmann::json& json) {
  const bool good = Get(json, "attempts", job_.attempts) && Get(json, "waits", job_.waits) &&
                    Get(json, "ended_ns", job_.ended) && Get(json, "expires_ns", job_.expires) &&
                    GetBytes(json, "cause_text", cause_text_) && GetBytes(json, "origin", origin_);
  if (const auto cause = json.find("cause"); cause != json.end()) {
    const auto known = cause->is_string()
                           ? std::find(kCauses.begin(), kCauses.end(), cause->get<std::string>())
                           : kCauses.end();
    if (known == kCauses.end()) return false;
    job_.cause = static_cast<std::uint32_t>(known - kCauses.begin());
  }
  job_.cause_text = cause_text_;
  job_.origin = origin_;
  return good;
}

Status JobsLine::ParseTube(const nlohmann::json& json) {
  kind_ = Kind::kTube;
  tube_ = {};
  const nlohmann::json& settings = json["settings"];
  bool good = settings.is_object() && GetBytes(json, "tube", tube_.tube) && !tube_.tube.empty() &&
              Get(settings, "pause_until_ns", tube_.pause_until) &&
              Get(settings, "pause_s", tube_.pause_s) &&
              Get(settings, "created_function", tube_.created_function);
  if (const auto limits = settings.find("max_queue"); good && limits != settings.end()) {
    good = limits->is_array() && limits->size() == 3 &&
           std::all_of(limits->begin(), limits->end(),
                       [](const auto& each) { return each.is_number_integer(); });
    if (good) {
      tube_.high = (*limits)[0];
      tube_.normal = (*limits)[1];
      tube_.low = (*limits)[2];
    }
  }
  return good ? Status() : Status(Code::kCorrupt, "settings of a tube that cannot be read");
}

}  // namespace gearstalk::ctl
