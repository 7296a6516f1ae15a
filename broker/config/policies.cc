#include "broker/config/policies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <set>

#include "broker/config/kinds.h"
#include "broker/config/sources.h"
#include "broker/policy/duration.h"

namespace gearstalk {
namespace {

constexpr std::size_t kMostEntries = 1'000;
constexpr std::uint64_t kAny32 = 0xFFFF'FFFF;

// A text, or a list of texts with commas between them.
std::optional<std::string> TextOf(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  if (!node.IsSequence()) return std::nullopt;
  std::vector<std::string> parts;
  for (const YAML::Node& part : node) {
    if (!part.IsScalar()) return std::nullopt;
    parts.push_back(part.Scalar());
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

// Takes a key of an entry and its value. The Status says what is wrong with the value; kNotFound:
// the key is unknown.
using TakeKey = std::function<Status(const std::string& key, const std::string& text)>;

// Reads the keys of one entry. False: there was an error, which `blame` got.
bool ReadEntry(const YAML::Node& entry, const std::string& list, const BlameNode& blame,
               const std::vector<std::string>& known, const TakeKey& take) {
  bool good = true;
  const auto bad = [&](const YAML::Node& node, const std::string& key, const std::string& what) {
    blame(node, key, what);
    good = false;
  };
  std::set<std::string> seen;
  for (const auto& pair : entry) {
    const std::string key = pair.first.Scalar();
    const std::string place = fmt::format("{}.{}", list, key);
    const std::optional<std::string> text = TextOf(pair.second);
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      bad(pair.first, list,
          fmt::format("unknown key '{}'; did you mean '{}'?", key, Nearest(key, known)));
    } else if (!seen.insert(key).second) {
      bad(pair.first, place, "is there twice");
    } else if (!text.has_value()) {
      bad(pair.first, place, "expected a value");
    } else if (const Status status = take(key, *text); !status.ok()) {
      bad(pair.first, place, fmt::format("'{}': {}", *text, status.message()));
    }
  }
  return good;
}

void ReadList(const YAML::Node& list, const std::string& name, const BlameNode& blame,
              const std::function<void(const YAML::Node& entry)>& read) {
  if (list.IsNull()) return;
  if (!list.IsSequence()) return blame(list, name, "expected a list");
  if (list.size() > kMostEntries) {
    return blame(list, name, fmt::format("has {} entries, {} at most", list.size(), kMostEntries));
  }
  for (const YAML::Node& entry : list) {
    entry.IsMap() ? read(entry) : blame(entry, name, "expected 'key: value' lines");
  }
}

// Removes the spaces around each pattern.
Result<std::string> Patterns(const std::string& text) {
  std::string patterns;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::size_t first = std::min(text.find_first_not_of(" \t", begin), end);
    const std::size_t last = text.find_last_not_of(" \t", end - 1) + 1;
    if (end == begin || first == end) return kinds::Expected("patterns with commas between them");
    if (begin > 0) patterns += ',';
    patterns.append(text, first, last - first);
    begin = end + 1;
  }
  return patterns;
}

void ReadTube(const YAML::Node& node, const BlameNode& blame, Config& config) {
  std::vector<std::string> known = {"match"};
  for (const PolicyKey& key : PolicyKeys()) known.emplace_back(key.name);
  PolicyEntry entry;
  Policy policy;
  const bool good = ReadEntry(node, "tubes", blame, known,
                              [&](const std::string& key, const std::string& text) -> Status {
                                if (key == "match") {
                                  Result<std::string> patterns = Patterns(text);
                                  if (!patterns.ok()) return patterns.status();
                                  entry.match = std::move(patterns.value());
                                  return {};
                                }
                                entry.values[key] = text;
                                return FindPolicyKey(key)->set(policy, text);
                              });
  if (!good) return;
  if (entry.match.empty()) return blame(node, "tubes", "an entry without 'match'");
  if (entry.values.empty()) return blame(node, "tubes." + entry.match, "sets nothing");
  if (const Status status = CheckPolicy(policy); !status.ok()) {
    return blame(node, "tubes." + entry.match, status.message());
  }
  config.tubes.push_back(std::move(entry));
}

// --- schedules

Status SetDuration(std::string_view text, Time least, Time& field) {
  const std::optional<Time> duration = ParseDuration(text);
  if (!duration.has_value() || *duration < least) {
    return kinds::Expected(fmt::format("a duration such as 30s, 10m or 24h, from {} to {}",
                                       PrintDuration(least), PrintDuration(kLongestDuration)));
  }
  field = *duration;
  return {};
}

Status SetNumber(std::string_view text, std::uint64_t most, std::uint32_t& field) {
  std::uint64_t number = 0;
  if (!kinds::ParseNumber(text, number) || number > most) {
    return kinds::Expected(fmt::format("a number from 0 to {}", most));
  }
  field = static_cast<std::uint32_t>(number);
  return {};
}

Status SetSeconds(std::string_view text, std::uint32_t& field) {
  const std::optional<Time> duration = ParseDuration(text);
  if (!duration.has_value() || *duration % kSecond != 0) return kinds::Expected("whole seconds");
  field = static_cast<std::uint32_t>(*duration / kSecond);
  return {};
}

Status SetName(std::string_view text, std::string& field) {
  const bool good = !text.empty() && text.size() <= 64 &&
                    std::all_of(text.begin(), text.end(), [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
                    });
  if (!good) return kinds::Expected("1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-'");
  field = text;
  return {};
}

Status SetTube(std::string_view text, std::string& field) {
  if (text.empty() || text.size() > 200 || text.starts_with("$reply/") ||
      text.find_first_of(std::string_view(" \t\r\n\0", 5)) != std::string_view::npos) {
    return kinds::Expected("a tube name of 1 to 200 bytes");
  }
  field = text;
  return {};
}

Status SetZone(std::string_view text, std::string& field) {
  const Result<TimeZone> zone = FindTimeZone(text);
  if (!zone.ok()) return zone.status();
  field = text;
  return {};
}

Status SetCron(std::string_view text, std::string& field) {
  const Result<Cron> cron = Cron::Parse(text);
  if (!cron.ok()) return cron.status();
  field = text;
  // An expression that is never due is so in every zone, so UTC will do.
  const Result<Plan> plan = Plan::Of({.cron = field}, "UTC");
  return plan.ok() ? Status() : plan.status();
}

Status SetOverlap(std::string_view text, bool& field) {
  if (text != "skip" && text != "allow") return kinds::Expected("skip or allow");
  field = text == "allow";
  return {};
}

struct ScheduleKey {
  std::string_view name;
  Status (*set)(Schedule&, std::string_view text);
};

constexpr ScheduleKey kScheduleKeys[] = {
    {"name", [](Schedule& s, std::string_view text) { return SetName(text, s.name); }},
    {"cron", [](Schedule& s, std::string_view text) { return SetCron(text, s.cron); }},
    {"every",
     [](Schedule& s, std::string_view text) { return SetDuration(text, kSecond, s.every); }},
    {"tube", [](Schedule& s, std::string_view text) { return SetTube(text, s.tube); }},
    {"body",
     [](Schedule& s, std::string_view text) {
       s.body = text;
       return Status();
     }},
    {"time_zone", [](Schedule& s, std::string_view text) { return SetZone(text, s.time_zone); }},
    {"priority",
     [](Schedule& s, std::string_view text) { return SetNumber(text, kAny32, s.priority); }},
    {"ttr", [](Schedule& s, std::string_view text) { return SetSeconds(text, s.ttr_s); }},
    {"delay", [](Schedule& s, std::string_view text) { return SetSeconds(text, s.delay_s); }},
    {"overlap", [](Schedule& s, std::string_view text) { return SetOverlap(text, s.overlap); }},
    {"catch_up",
     [](Schedule& s, std::string_view text) { return SetDuration(text, 0, s.catch_up); }},
};

// What is wrong with a schedule as a whole; empty if nothing is.
std::string Doubt(const Schedule& schedule, const Config& config) {
  if (schedule.name.empty()) return "an entry without 'name'";
  if (std::any_of(config.schedules.begin(), config.schedules.end(),
                  [&](const Schedule& other) { return other.name == schedule.name; })) {
    return fmt::format("two schedules are called '{}'", schedule.name);
  }
  if (schedule.cron.empty() == (schedule.every == 0)) {
    return fmt::format("'{}' needs one of 'cron' and 'every'", schedule.name);
  }
  if (schedule.tube.empty()) return fmt::format("'{}' has no 'tube'", schedule.name);
  const Result<Plan> plan = Plan::Of(schedule, "UTC");
  return plan.ok() ? "" : plan.status().message();
}

void ReadSchedule(const YAML::Node& node, const BlameNode& blame, Config& config) {
  std::vector<std::string> known;
  for (const ScheduleKey& key : kScheduleKeys) known.emplace_back(key.name);
  Schedule schedule;
  const auto take = [&](const std::string& name, const std::string& text) {
    const auto key = std::find_if(std::begin(kScheduleKeys), std::end(kScheduleKeys),
                                  [&](const ScheduleKey& row) { return row.name == name; });
    return key->set(schedule, text);
  };
  if (!ReadEntry(node, "schedules", blame, known, take)) return;
  if (const std::string doubt = Doubt(schedule, config); !doubt.empty()) {
    return blame(node, "schedules", doubt);
  }
  config.schedules.push_back(std::move(schedule));
}

}  // namespace

void ReadTubes(const YAML::Node& list, const BlameNode& blame, Config& config) {
  config.tubes.clear();
  ReadList(list, "tubes", blame, [&](const YAML::Node& entry) { ReadTube(entry, blame, config); });
}

void ReadSchedules(const YAML::Node& list, const BlameNode& blame, Config& config) {
  config.schedules.clear();
  ReadList(list, "schedules", blame,
           [&](const YAML::Node& entry) { ReadSchedule(entry, blame, config); });
}

}  // namespace gearstalk
