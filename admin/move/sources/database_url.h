#pragma once

#include <string>

#include "broker/base/status.h"

namespace gearstalk::ctl {

// [USER][:PW]@HOST[:PORT]/REST, where HOST may be an IPv6 address in brackets and %XX stands for a
// byte. A password that is not given comes from $GEARSTALK_SOURCE_PASSWORD.
struct DatabaseUrl {
  std::string user{}, password{}, host{}, rest{};
  unsigned port = 0;  // 0: not given

  static Result<DatabaseUrl> Parse(const std::string& text);
  // "HOST" or "HOST:PORT"
  std::string Place() const;
};

}  // namespace gearstalk::ctl
