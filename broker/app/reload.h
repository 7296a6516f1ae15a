#pragma once

#include <set>
#include <string>
#include <vector>

#include "broker/config/option.h"

namespace gearstalk {

// What a configuration that was read again means for a broker that runs with another one.
struct ReloadPlan {
  Config config;                     // to go on with: the options that need a restart are as before
  std::set<Apply> groups;            // what has to be applied
  std::vector<std::string> changed;  // keys
  std::vector<std::string> restart;  // keys of changed options that need a restart
};

ReloadPlan PlanReload(const Config& running, const Config& fresh);

}  // namespace gearstalk
