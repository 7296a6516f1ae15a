#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
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
  std::string match;  // shell patterns, as fnmatch(3) without flags has them, commas between them
  PolicyValues values;
  bool operator==(const PolicyEntry&) const = default;
};

// The entries of the configuration, and what follows from them for a tube. For each key on its own
// the first entry counts that matches the tube and sets the key; what an administrator set counts
// before all entries. No entry concerns tubes below "$reply/".
class PolicyRules {
 public:
  PolicyRules() = default;
  explicit PolicyRules(std::vector<PolicyEntry> entries);

  const std::vector<PolicyEntry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }

  // The entries that match a tube, in their order.
  struct Matches {
    std::vector<std::uint16_t> entries = {};
    std::size_t tried = 0;  // patterns given to fnmatch(3)
  };
  // Finds names without wildcards in a table, and tries only patterns whose text before the first
  // wildcard begins the name.
  Matches MatchesOf(std::string_view tube) const;
  Policy Of(const Matches& matches, const PolicyValues& set_by_admin) const;
  Policy Of(std::string_view tube, const PolicyValues& set_by_admin) const {
    return Of(MatchesOf(tube), set_by_admin);
  }

  struct Line {
    std::string_view key;
    std::string value;   // shortest text form
    std::string source;  // "default", "admin", or the `match` of the entry
  };
  // One for each key, in the order of PolicyKeys.
  std::vector<Line> Explain(std::string_view tube, const PolicyValues& set_by_admin) const;

 private:
  struct Pattern {
    std::string text;
    std::size_t plain;  // bytes before the first wildcard
    std::uint16_t entry;
  };

  const PolicyEntry* EntryFor(const Matches& matches, const PolicyKey& key) const;

  std::vector<PolicyEntry> entries_;
  absl::flat_hash_map<std::string, std::vector<std::uint16_t>> by_name_;  // without wildcards
  std::vector<Pattern> patterns_;                                         // all others
};

}  // namespace gearstalk
