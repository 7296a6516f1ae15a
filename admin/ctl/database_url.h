#pragma once

#include <string>

#include "broker/base/status.h"

namespace gearstalk::ctl {

// [USER][:PW]@HOST[:PORT]/REST. A password that is not given comes from $GEARSTALK_SOURCE_PASSWORD.
struct DatabaseUrl {
  std::string user{}, password{}, host{}, port{}, rest{};

  static Result<DatabaseUrl> Parse(const std::string& text);
};

}  // namespace gearstalk::ctl
