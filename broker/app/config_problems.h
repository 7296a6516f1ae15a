#pragma once

#include <string>
#include <vector>

#include "broker/config/config.h"

namespace gearstalk {

// What is wrong with a configuration although each value has the right form: names that the system
// does not know, files that cannot be read, addresses given twice, rules without effect. Nothing is
// opened for writing and nothing is bound, so a broker may run meanwhile. Each problem begins with
// "KEY 'VALUE'" (see Located).
std::vector<std::string> ProblemsOf(const Config& config);

// Those of schedules whose job would be refused for its size; a broker does not start with one.
std::vector<std::string> LargeBodies(const Config& config);

// Those of them with which a broker can start: rules that never apply, priorities out of order.
std::vector<std::string> UselessSettings(const Config& config);

}  // namespace gearstalk
