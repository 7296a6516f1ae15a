#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "broker/policy/policy.h"

namespace gearstalk {

// Values by key, in their text form; whoever fills it has checked them.
using PolicyValues = std::map<std::string, std::string, std::less<>>;

// One entry of `tubes:` in the configuration file.
struct PolicyEntry {
  std::string match;  // shell patterns, commas between them
  PolicyValues values;
  bool operator==(const PolicyEntry&) const = default;
};

// The entries of the configuration, and what follows from them for a tube. For each key on its own
// the first entry counts that matches the tube and sets the key; what an administrator set counts
// before all entries. No entry concerns tubes below "$reply/".
class PolicyRules {
 public:
  PolicyRules() = default;
  explicit PolicyRules(std::vector<PolicyEntry> entries) : entries_(std::move(entries)) {}

  const std::vector<PolicyEntry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }
  // Whether any entry matches the tube. O(entries).
  bool Concerns(std::string_view tube) const;
  Policy Of(std::string_view tube, const PolicyValues& set_by_admin) const;

  struct Line {
    std::string_view key;
    std::string value;   // shortest text form
    std::string source;  // "default", "admin", or the `match` of the entry
  };
  // One for each key, in the order of PolicyKeys.
  std::vector<Line> Explain(std::string_view tube, const PolicyValues& set_by_admin) const;

 private:
  const PolicyEntry* EntryFor(std::string_view tube, const PolicyKey& key) const;

  std::vector<PolicyEntry> entries_;
};

// Whether the name fits one of the patterns; fnmatch(3) without flags, commas between patterns.
bool MatchesPatterns(std::string_view patterns, std::string_view name);

}  // namespace gearstalk
