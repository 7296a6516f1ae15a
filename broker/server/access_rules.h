#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/status.h"
#include "broker/server/access.h"

namespace gearstalk {

// Rules "WHO ALLOWED [TUBES]", one a line. The first rule that matches connection and tube decides;
// where no rule matches, nothing is allowed. Without rules everything is allowed.
//
//   WHO      *, or listen=ADDRESS (as configured), or cert=PATTERN (the common name of a
//            verified client certificate)
//   ALLOWED  all, none, or some of produce,consume,admin,observe
//   TUBES    shell patterns, separated by commas; * if left out
class AccessRules {
 public:
  // Errors name the line and what is wrong with it.
  static Result<AccessRules> Parse(std::span<const std::string> lines);

  // The rights of a connection that was accepted at `listen`; nullptr: all rights. `certificate` is
  // the common name of the client's certificate, empty without one.
  std::shared_ptr<const Access> For(std::string_view listen, std::string_view certificate);

 private:
  struct Line {
    enum class Who : std::uint8_t { kEverybody, kListen, kCertificate } who = Who::kEverybody;
    std::string name;
    Access::Rule rule;
  };

  static Status ParseLine(std::string_view text, Line& line);
  static bool Concerns(const Line& line, std::string_view listen, std::string_view certificate);

  std::vector<Line> lines_;
  std::map<std::vector<bool>, std::shared_ptr<const Access>> made_;  // by the lines that apply
};

}  // namespace gearstalk
