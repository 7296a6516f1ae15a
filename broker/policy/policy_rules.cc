#include "broker/policy/policy_rules.h"

#include <fnmatch.h>

#include <algorithm>
#include <utility>

#include "broker/base/split.h"

namespace gearstalk {

PolicyRules::PolicyRules(std::vector<PolicyEntry> entries) : entries_(std::move(entries)) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto entry = static_cast<std::uint16_t>(i);
    for (const std::string_view part : SplitWords(entries_[i].match, ",")) {
      std::string pattern(part);
      const std::size_t plain = pattern.find_first_of("*?[\\");
      if (plain == std::string::npos) {
        by_name_[std::move(pattern)].push_back(entry);
      } else {
        patterns_.push_back({std::move(pattern), plain, entry});
      }
    }
  }
}

PolicyRules::Matches PolicyRules::MatchesOf(std::string_view tube) const {
  Matches matches;
  if (tube.starts_with("$reply/")) return matches;
  const std::string name(tube);
  if (const auto named = by_name_.find(name); named != by_name_.end()) {
    matches.entries = named->second;
  }
  for (const auto& [pattern, plain, entry] : patterns_) {
    if (name.compare(0, plain, pattern, 0, plain) != 0) continue;
    ++matches.tried;
    const bool fits = fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
    if (fits) matches.entries.push_back(entry);
  }
  std::sort(matches.entries.begin(), matches.entries.end());
  const auto repeated = std::unique(matches.entries.begin(), matches.entries.end());
  matches.entries.erase(repeated, matches.entries.end());
  return matches;
}

const PolicyEntry* PolicyRules::EntryFor(const Matches& matches, const PolicyKey& key) const {
  for (const std::uint16_t entry : matches.entries) {
    if (entries_[entry].values.contains(key.name)) return &entries_[entry];
  }
  return nullptr;
}

Policy PolicyRules::Of(const Matches& matches, const PolicyValues& set_by_admin) const {
  Policy policy;
  for (const PolicyKey& key : PolicyKeys()) {
    const PolicyEntry* entry = EntryFor(matches, key);
    const PolicyValues* values = set_by_admin.contains(key.name) ? &set_by_admin
                                 : entry != nullptr              ? &entry->values
                                                                 : nullptr;
    if (values == nullptr) continue;
    // A journal can contain a value that this version refuses: the default applies then.
    static_cast<void>(key.form.set(policy, values->find(key.name)->second));
  }
  return policy;
}

std::vector<PolicyRules::Line> PolicyRules::Explain(std::string_view tube,
                                                    const PolicyValues& set_by_admin) const {
  const Matches matches = MatchesOf(tube);
  const Policy policy = Of(matches, set_by_admin);
  std::vector<Line> lines;
  for (const PolicyKey& key : PolicyKeys()) {
    const PolicyEntry* entry = EntryFor(matches, key);
    lines.push_back({key.name, key.form.print(policy),
                     set_by_admin.contains(key.name) ? "admin"
                     : entry != nullptr              ? entry->match
                                                     : "default"});
  }
  return lines;
}

}  // namespace gearstalk
