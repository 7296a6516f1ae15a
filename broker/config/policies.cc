#include "broker/config/policies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <set>

#include "broker/base/near_names.h"
#include "broker/base/split.h"
#include "broker/base/status.h"
#include "broker/policy/duration.h"

namespace gearstalk {
namespace {

constexpr std::size_t kMostEntries = 1'000;

// A text, or, where one may be, a list of texts with commas between them.
std::optional<std::string> TextOf(const YAML::Node& node, bool list) {
  if (node.IsScalar()) return node.Scalar();
  if (!node.IsSequence() || !list) return std::nullopt;
  std::vector<std::string> parts;
  for (const YAML::Node& part : node) {
    if (!part.IsScalar()) return std::nullopt;
    parts.push_back(part.Scalar());
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

// Takes a key of an entry and its value. The Status says what is wrong with the value.
using TakeKey = std::function<Status(const std::string& key, const std::string& text)>;

// The keys that an entry may have, and those of them that take a list.
struct Keys {
  std::vector<std::string> known = {};
  std::set<std::string, std::less<>> lists = {};
};

// Reads the keys of one entry. False: there was an error, which `blame` got.
bool ReadEntry(const YAML::Node& entry, const std::string& list, const BlameNode& blame,
               const Keys& keys, const TakeKey& take) {
  bool good = true;
  const auto bad = [&](const YAML::Node& node, const std::string& key, const std::string& what) {
    blame(node, key, what);
    good = false;
  };
  std::set<std::string> seen;
  for (const auto& pair : entry) {
    const std::string key = pair.first.Scalar();
    const std::string place = fmt::format("{}.{}", list, key);
    const std::optional<std::string> text = TextOf(pair.second, keys.lists.contains(key));
    if (std::find(keys.known.begin(), keys.known.end(), key) == keys.known.end()) {
      bad(pair.first, list, fmt::format("unknown key '{}'; {}", key, NearNames(key, keys.known)));
    } else if (!seen.insert(key).second) {
      bad(pair.first, place, "is there twice");
    } else if (!text.has_value()) {
      const bool nothing = pair.second.IsNull();
      bad(pair.first, place,
          nothing ? "expected a value" : "expected a text: put quotes around it");
    } else if (const Status status = take(key, *text); !status.ok()) {
      bad(pair.first, place, fmt::format("'{}': {}", *text, status.message()));
    }
  }
  return good;
}

// `first` is the key that an entry begins with in documents.
void ReadList(const YAML::Node& list, const std::string& name, const char* first,
              const BlameNode& blame, const std::function<void(const YAML::Node& entry)>& read) {
  if (list.IsNull()) return;
  if (!list.IsSequence()) {
    return blame(list, name,
                 fmt::format("expected a list, whose entries begin with '- {}:'", first));
  }
  if (list.size() > kMostEntries) {
    return blame(list, name, fmt::format("has {} entries, {} at most", list.size(), kMostEntries));
  }
  for (const YAML::Node& entry : list) {
    entry.IsMap() ? read(entry) : blame(entry, name, "expected 'key: value' lines");
  }
}

// Removes the spaces around each pattern.
Result<std::string> Patterns(const std::string& text) {
  std::vector<std::string_view> patterns = Split(text, ',');
  for (std::string_view& pattern : patterns) {
    pattern = Trimmed(pattern);
    if (pattern.empty()) return Expected("patterns with commas between them");
  }
  return fmt::format("{}", fmt::join(patterns, ","));
}

void ReadTube(const YAML::Node& node, const BlameNode& blame, Config& config) {
  Keys keys{.known = {"match"}, .lists = {"match"}};
  for (const PolicyKey& key : PolicyKeys()) {
    keys.known.emplace_back(key.name);
    if (key.form.list) keys.lists.emplace(key.name);
  }
  PolicyEntry entry;
  Policy policy;
  const bool good = ReadEntry(node, "tubes", blame, keys,
                              [&](const std::string& key, const std::string& text) -> Status {
                                if (key == "match") {
                                  entry.match = GS_TRY(Patterns(text));
                                  return {};
                                }
                                entry.values[key] = text;
                                return FindPolicyKey(key)->form.set(policy, text);
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

Status SetPriority(std::string_view text, std::uint32_t& field) {
  return ParseNumber(text, field) ? Status() : Expected("a number from 0 to 4294967295");
}

Status SetName(std::string_view text, std::string& field) {
  const bool good = !text.empty() && text.size() <= 64 &&
                    std::all_of(text.begin(), text.end(), [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
                    });
  if (!good) return Expected("1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-'");
  field = text;
  return {};
}

Status SetTube(std::string_view text, std::string& field) {
  if (text.empty() || text.size() > 200 || text.starts_with("$reply/") ||
      text.find_first_of(std::string_view(" \t\r\n\0", 5)) != std::string_view::npos) {
    return Expected("a tube name of 1 to 200 bytes");
  }
  field = text;
  return {};
}

Status SetZone(std::string_view text, std::string& field) {
  GS_TRY(FindTimeZone(text));
  field = text;
  return {};
}

Status SetCron(std::string_view text, std::string& field) {
  GS_TRY(StatusOf(Cron::Parse(text)));
  field = text;
  // An expression that is never due is so in every zone, so UTC will do.
  return StatusOf(Plan::Of({.cron = field}, "UTC"));
}

Status SetOverlap(std::string_view text, bool& field) {
  if (text != "skip" && text != "allow") return Expected("skip or allow");
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
     [](Schedule& s, std::string_view text) {
       return ReadDuration(text, kSecond, kLongestDuration, s.every);
     }},
    {"tube", [](Schedule& s, std::string_view text) { return SetTube(text, s.tube); }},
    {"body",
     [](Schedule& s, std::string_view text) {
       s.body = text;
       return Status();
     }},
    {"time_zone", [](Schedule& s, std::string_view text) { return SetZone(text, s.time_zone); }},
    {"priority", [](Schedule& s, std::string_view text) { return SetPriority(text, s.priority); }},
    {"ttr", [](Schedule& s, std::string_view text) { return ReadSeconds(text, s.ttr_s); }},
    {"delay", [](Schedule& s, std::string_view text) { return ReadSeconds(text, s.delay_s); }},
    {"overlap", [](Schedule& s, std::string_view text) { return SetOverlap(text, s.overlap); }},
    {"catch_up",
     [](Schedule& s, std::string_view text) {
       return ReadDuration(text, 0, kLongestDuration, s.catch_up);
     }},
};

// What is wrong with a schedule as a whole; empty if nothing is.
std::string Doubt(const Schedule& schedule, const Config& config) {
  if (schedule.name.empty()) return "an entry without 'name'";
  if (std::ranges::count(config.schedules, schedule.name, &Schedule::name) > 0) {
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
  Keys keys;
  for (const ScheduleKey& key : kScheduleKeys) keys.known.emplace_back(key.name);
  Schedule schedule;
  const auto take = [&](const std::string& name, const std::string& text) {
    return std::ranges::find(kScheduleKeys, name, &ScheduleKey::name)->set(schedule, text);
  };
  if (!ReadEntry(node, "schedules", blame, keys, take)) return;
  if (const std::string doubt = Doubt(schedule, config); !doubt.empty()) {
    return blame(node, "schedules", doubt);
  }
  config.schedules.push_back(std::move(schedule));
}

// --- Doubts

// Whether a pattern of the list is a plain "*".
bool MatchesAll(std::string_view patterns) {
  return ("," + std::string(patterns) + ",").find(",*,") != std::string::npos;
}

// An entry for all tubes decides its keys: entries behind it cannot set them.
void FindHidden(const std::vector<PolicyEntry>& entries, std::vector<std::string>& doubts) {
  std::set<std::string> decided;
  for (const PolicyEntry& entry : entries) {
    for (const auto& [key, value] : entry.values) {
      if (!decided.contains(key)) continue;
      doubts.push_back(fmt::format(
          "tubes '{}': its {} never applies: an entry '*' before it decides that for all tubes",
          entry.match, key));
    }
    if (!MatchesAll(entry.match)) continue;
    for (const auto& [key, value] : entry.values) decided.insert(key);
  }
}

bool NamesOne(const PolicyEntry& entry) {
  return entry.match.find_first_of("*?[\\,") == std::string::npos;
}

// The policy of each tube of an entry; where it has wildcards, as far as entries set it that cover
// all of them.
Policy PolicyOf(const PolicyEntry& entry, const std::vector<PolicyEntry>& entries) {
  if (NamesOne(entry)) return PolicyRules(entries).Of(entry.match, {});
  std::vector<PolicyEntry> covering;
  for (const PolicyEntry& other : entries) {
    if (other.match != entry.match && !MatchesAll(other.match)) continue;
    covering.push_back(other);
    covering.back().match = "*";
  }
  return PolicyRules(std::move(covering)).Of("any", {});
}

// `unique_for` has no effect without `unique`, which other entries may set for some of its tubes.
void FindUnusedWindows(const std::vector<PolicyEntry>& entries, std::vector<std::string>& doubts) {
  const bool any = std::ranges::any_of(
      entries, [](const PolicyEntry& entry) { return entry.values.contains("unique"); });
  for (const PolicyEntry& entry : entries) {
    if (!entry.values.contains("unique_for")) continue;
    const Policy policy = PolicyOf(entry, entries);
    const bool unique = policy.unique != Policy::Unique::kNone || (any && !NamesOne(entry));
    if (policy.unique_for == 0 || unique) continue;
    doubts.push_back(fmt::format(
        "tubes '{}': unique_for without unique has no effect: say unique: body or json:POINTER",
        entry.match));
  }
}

// A line whose job fails over and over stands still: fifo wants an end to its attempts.
void FindEndlessLines(const std::vector<PolicyEntry>& entries, std::vector<std::string>& doubts) {
  for (const PolicyEntry& entry : entries) {
    if (!entry.values.contains("group_order")) continue;
    const Policy policy = PolicyOf(entry, entries);
    if (policy.group_order != Policy::GroupOrder::kFifo || policy.attempts > 0) continue;
    doubts.push_back(fmt::format(
        "tubes '{}': group_order fifo without attempts: a job that never ends well stops its group",
        entry.match));
  }
}

}  // namespace

std::vector<std::string> DoubtsAboutTubes(const std::vector<PolicyEntry>& entries) {
  std::vector<std::string> doubts;
  FindHidden(entries, doubts);
  FindUnusedWindows(entries, doubts);
  FindEndlessLines(entries, doubts);
  return doubts;
}

void ReadTubes(const YAML::Node& list, const BlameNode& blame, Config& config) {
  config.tubes.clear();
  ReadList(list, "tubes", "match", blame,
           [&](const YAML::Node& entry) { ReadTube(entry, blame, config); });
}

void ReadSchedules(const YAML::Node& list, const BlameNode& blame, Config& config) {
  config.schedules.clear();
  ReadList(list, "schedules", "name", blame,
           [&](const YAML::Node& entry) { ReadSchedule(entry, blame, config); });
}

}  // namespace gearstalk
