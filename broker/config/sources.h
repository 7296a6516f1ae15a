#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/status.h"
#include "broker/config/option.h"

namespace gearstalk {

// By key: what others than the table know about the values of an option, such as the form of an
// address. A message says what is wrong with the value, and names it.
using Checks = std::map<std::string_view, std::function<Status(const std::string& value)>>;

// A value and where it was given: flag, variable, or file, line and key.
struct Given {
  std::string text;
  std::string where;
};

// Errors begin with the `where` of the value that is bad.
Status SetOption(const Option& option, const std::vector<Given>& values, const Checks& checks,
                 Config& config);

// A YAML file of keys and values; groups are maps, or dotted keys.
Status ReadConfigFile(const std::string& file, const Checks& checks, Config& config);

// The variables GEARSTALKD_...
Status ReadEnvironment(const Checks& checks, Config& config);

}  // namespace gearstalk
