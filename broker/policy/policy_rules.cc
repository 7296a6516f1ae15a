#include "broker/policy/policy_rules.h"

#include <fnmatch.h>

#include <algorithm>

namespace gearstalk {

bool MatchesPatterns(std::string_view patterns, std::string_view name) {
  const std::string text(name);
  while (!patterns.empty()) {
    const std::size_t end = std::min(patterns.find(','), patterns.size());
    const std::string pattern(patterns.substr(0, end));
    if (fnmatch(pattern.c_str(), text.c_str(), 0) == 0) return true;
    patterns.remove_prefix(std::min(end + 1, patterns.size()));
  }
  return false;
}

namespace {

bool TakesPolicies(std::string_view tube) { return !tube.starts_with("$reply/"); }

}  // namespace

bool PolicyRules::Concerns(std::string_view tube) const {
  return TakesPolicies(tube) &&
         std::any_of(entries_.begin(), entries_.end(),
                     [&](const PolicyEntry& entry) { return MatchesPatterns(entry.match, tube); });
}

const PolicyEntry* PolicyRules::EntryFor(std::string_view tube, const PolicyKey& key) const {
  if (!TakesPolicies(tube)) return nullptr;
  for (const PolicyEntry& entry : entries_) {
    if (entry.values.contains(key.name) && MatchesPatterns(entry.match, tube)) {
      return &entry;
    }
  }
  return nullptr;
}

Policy PolicyRules::Of(std::string_view tube, const PolicyValues& set_by_admin) const {
  Policy policy;
  for (const PolicyKey& key : PolicyKeys()) {
    const PolicyEntry* entry = EntryFor(tube, key);
    const PolicyValues* values = set_by_admin.contains(key.name) ? &set_by_admin
                                 : entry != nullptr              ? &entry->values
                                                                 : nullptr;
    if (values == nullptr) continue;
    // A journal can contain a value that this version refuses: the default applies then.
    if (!key.set(policy, values->find(key.name)->second).ok()) continue;
  }
  return policy;
}

std::vector<PolicyRules::Line> PolicyRules::Explain(std::string_view tube,
                                                    const PolicyValues& set_by_admin) const {
  const Policy policy = Of(tube, set_by_admin);
  std::vector<Line> lines;
  for (const PolicyKey& key : PolicyKeys()) {
    const PolicyEntry* entry = EntryFor(tube, key);
    lines.push_back({key.name, key.print(policy),
                     set_by_admin.contains(key.name) ? "admin"
                     : entry != nullptr              ? entry->match
                                                     : "default"});
  }
  return lines;
}

}  // namespace gearstalk
