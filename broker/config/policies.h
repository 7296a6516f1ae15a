#pragma once

#include <functional>
#include <string>
#include <vector>

#include "broker/config/config.h"

namespace YAML {
class Node;
}

namespace gearstalk {

// What is wrong, with the node that is to blame and its key: "tubes.attempts".
using BlameNode =
    std::function<void(const YAML::Node& node, const std::string& key, const std::string& what)>;

// The lists of the configuration file that are no options: `tubes` and `schedules`. Each reads the
// whole list and tells of every error in it.
void ReadTubes(const YAML::Node& list, const BlameNode& blame, Config& config);
void ReadSchedules(const YAML::Node& list, const BlameNode& blame, Config& config);

// Warnings about entries that are valid: keys that never apply, or have no effect.
std::vector<std::string> DoubtsAboutTubes(const std::vector<PolicyEntry>& entries);

}  // namespace gearstalk
