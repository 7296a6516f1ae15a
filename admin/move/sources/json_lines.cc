#include "admin/move/sources/json_lines.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "broker/base/base64.h"
#include "broker/base/utf8.h"
#include "broker/journal/record_codec.h"

namespace gearstalk::ctl {
namespace {

using Json = nlohmann::ordered_json;

// By the numbers of the journal, which knows no reserved jobs.
constexpr std::array<std::string_view, 5> kStates = {"", "ready", "delayed", "buried", "reserved"};
constexpr auto kReserved = static_cast<Record::State>(4);
constexpr std::array<std::string_view, 8> kCauses = {"",     "failed",   "exception", "timeout",
                                                     "lost", "released", "buried",    "expired"};

// The fields of a line in the order of the format. Both directions visit them; `job` and `settings`
// are const where a line is written.
void VisitJob(auto& job, auto&& visit) {
  visit("job", job.id);
  visit("tube", job.tube);
  visit.Word("state", job.state, kStates);
  visit("priority", job.priority);
  visit("ttr_s", job.ttr_s);
  visit("delay_s", job.delay_s);
  visit("due_ns", job.due);
  visit("created_ns", job.created);
  visit("body", job.body);
  visit("unique", job.unique);
  visit("unique_is_body", job.unique_is_body);
  visit("reducer", job.reducer);
  visit("keep_on_failure", job.keep_on_failure);
  visit("reserves", job.counters.reserves);
  visit("timeouts", job.counters.timeouts);
  visit("releases", job.counters.releases);
  visit("buries", job.counters.buries);
  visit("kicks", job.counters.kicks);
  visit("lost_tries", job.counters.lost_tries);
  visit("burial", job.burial);
  visit("attempts", job.failure.attempts);
  visit("waits", job.failure.waits);
  visit.Word("cause", job.failure.cause, kCauses);
  visit("cause_text", job.failure.cause_text);
  visit("origin", job.failure.origin);
  visit("ended_ns", job.failure.ended);
  visit("expires_ns", job.expires);
}

void VisitSettings(auto& settings, auto&& visit) {
  visit("pause_until_ns", settings.pause_until);
  visit("pause_s", settings.pause_s);
  visit("max_queue", settings.max_queue);
  visit("created_function", settings.created_function);
}

// Zero is what an absent field means. Bytes that are no UTF-8 are written in base64.
struct Write {
  Json& json;

  template <typename T>
  void operator()(const std::string& name, const T& value) const {
    if (value == T{}) return;
    if constexpr (std::is_same_v<T, std::string_view>) {
      if (!IsUtf8(value)) {
        json[name + "_base64"] = ToBase64(value);
        return;
      }
    }
    json[name] = value;
  }
  template <typename Enum>
  void Word(const char* name, Enum value, const auto& words) const {
    (*this)(name, words[static_cast<std::size_t>(value)]);
  }
};

struct Read {
  const nlohmann::json& json;
  std::deque<std::string>& texts;  // what views lie in
  bool good = true;                // no field is of another type

  template <typename T>
  void operator()(const std::string& name, T& value) {
    const auto found = json.find(name);
    if constexpr (std::is_same_v<T, std::string_view>) {
      const auto coded = found == json.end() ? json.find(name + "_base64") : json.end();
      if (coded != json.end()) return TakeCoded(*coded, value);
    }
    if (found != json.end()) good = Take(*found, value) && good;
  }
  template <typename Enum>
  void Word(const char* name, Enum& value, const auto& words) {
    std::string_view word;
    (*this)(name, word);
    const auto known = std::find(words.begin(), words.end(), word);
    good = good && known != words.end();
    value = static_cast<Enum>(known == words.end() ? 0 : known - words.begin());
  }

 private:
  static bool Take(const nlohmann::json& given, bool& value) {
    if (given.is_boolean()) value = given.get<bool>();
    return given.is_boolean();
  }
  // Numbers in JSON are unbounded; the broker's are not.
  template <std::integral T>
  static bool Take(const nlohmann::json& given, T& value) {
    if (!given.is_number_integer()) return false;
    const bool fits = given.is_number_unsigned() ? std::in_range<T>(given.get<std::uint64_t>())
                                                 : std::in_range<T>(given.get<std::int64_t>());
    if (fits) value = given.get<T>();
    return fits;
  }
  static bool Take(const nlohmann::json& given, MaxQueue& value) {
    if (!given.is_array() || given.size() != value.size()) return false;
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (!Take(given[i], value[i])) return false;
    }
    return true;
  }
  bool Take(const nlohmann::json& given, std::string_view& value) {
    if (!given.is_string()) return false;
    value = texts.emplace_back(given.get<std::string>());
    return true;
  }
  void TakeCoded(const nlohmann::json& coded, std::string_view& value) {
    const auto* const text = coded.get_ptr<const std::string*>();
    std::optional<std::string> decoded = text == nullptr ? std::nullopt : FromBase64(*text);
    good = good && decoded;
    if (decoded) value = texts.emplace_back(std::move(*decoded));
  }
};

std::string Dump(const Json& json) { return json.dump() + "\n"; }

}  // namespace

std::string JobsHeadLine(Time made) { return Dump({{"gearstalk_jobs", 1}, {"made_ns", made}}); }

std::string JobsEndLine(std::uint64_t jobs, std::uint64_t next_id) {
  return Dump({{"end", {{"jobs", jobs}, {"next_id", next_id}}}});
}

std::string LineOf(const Record& record, bool reserved) {
  Json json;
  if (record.kind == Record::Kind::kTube) {
    Json settings = Json::object();
    VisitSettings(record.settings, Write{settings});
    Write{json}("tube", record.tube);
    json["settings"] = settings;
    return Dump(json);
  }
  Record job = record;
  if (job.state != Record::State::kBuried) job.burial = 0;
  if (reserved) job.state = kReserved;
  // The unique key "-" of the wire means what the flag says.
  if (job.unique_is_body) job.unique = {};
  VisitJob(std::as_const(job), Write{json});
  return Dump(json);
}

Status JobsLine::Parse(std::string_view line) {
  const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
  const auto bad = [](const char* what) { return Status(Code::kCorrupt, what); };
  if (!json.is_object()) return bad("not a JSON object");
  texts_.clear();
  record_ = {};
  if (json.contains("job")) return ParseJob(json);
  if (json.contains("settings")) return ParseTube(json);
  if (json.contains("end")) {
    kind_ = Kind::kEnd;
    Read end{json["end"], texts_, json["end"].is_object()};
    end("jobs", jobs_);
    end("next_id", next_id_);
    return end.good ? Status() : bad("the end line is damaged");
  }
  kind_ = Kind::kHead;
  std::uint64_t version = 0;
  Read{json, texts_}("gearstalk_jobs", version);
  if (version == 0) return bad("an unknown line");
  return version == 1 ? Status() : bad("a version of the format that is not known");
}

Status JobsLine::ParseJob(const nlohmann::json& json) {
  kind_ = Kind::kJob;
  Read read{json, texts_};
  VisitJob(record_, read);
  if (record_.state == Record::State{}) return {Code::kCorrupt, "a job without a known state"};
  // Nobody has the job where it is imported.
  if (record_.state == kReserved) record_.state = Record::State::kReady;
  if (!read.good || record_.tube.empty() || record_.id == 0)
    return {Code::kCorrupt, "a job with a field that is missing or of another type"};
  return CheckSense(record_);
}

Status JobsLine::ParseTube(const nlohmann::json& json) {
  kind_ = Kind::kTube;
  record_.kind = Record::Kind::kTube;
  Read read{json, texts_};
  read("tube", record_.tube);
  Read settings{json["settings"], texts_, json["settings"].is_object()};
  VisitSettings(record_.settings, settings);
  const bool good = read.good && settings.good && !record_.tube.empty();
  return good ? CheckSense(record_)
              : Status(Code::kCorrupt, "settings of a tube that cannot be read");
}

}  // namespace gearstalk::ctl
