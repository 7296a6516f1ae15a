#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/status.h"
#include "broker/config/option.h"

namespace gearstalk {

// By key: checks of an option's values that the table cannot do, such as the form of an address. A
// message names the value and says what is wrong with it.
using Checks = std::map<std::string_view, std::function<Status(const std::string& value)>>;

// A value and where it was given: flag, variable, or file, line and key.
struct Given {
  std::string text;
  std::string where;
};

// What was set last outweighs what was set before.
struct Settings {
  Config config;
  std::string file;  // that was read; empty: none
  struct Origin {
    std::string key, text, where;
  };
  std::vector<Origin> origins;  // in the order in which they were set
  // All that is wrong with the values. Each begins with the place where the value was given.
  std::vector<std::string> errors;
};

void SetOption(const Option& option, const std::vector<Given>& values, const Checks& checks,
               Settings& settings);

// A YAML file of keys and values; groups are maps, or dotted keys.
void ReadConfigFile(const std::string& file, const Checks& checks, Settings& settings);

// The variables GEARSTALKD_..., and the files that GEARSTALKD_..._FILE name.
void ReadEnvironment(const Checks& checks, Settings& settings);
// A warning for each GEARSTALKD_... variable that is no option; another program may use the name.
std::vector<std::string> UnknownVariables();

// A message that begins with "KEY 'VALUE'", with the place where that was set in front.
std::string Located(const Settings& settings, const std::string& message);

}  // namespace gearstalk
