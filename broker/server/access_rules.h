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

// Who may do what: lines "WHO ALLOWED [TUBES]". The first one for a connection and a tube decides;
// where none does, nothing is allowed. Without lines everything is.
//
//   WHO      *, or listen=ADDRESS (as it is listened on), or cert=PATTERN (the common name of a
//            verified client certificate)
//   ALLOWED  all, none, or some of produce,consume,admin,observe
//   TUBES    shell patterns with commas between them; * if left out
class AccessRules {
 public:
  // Errors name the line and what is wrong with it.
  static Result<AccessRules> Parse(std::span<const std::string> lines);

  // What a connection may do that came to `listen`; nullptr: everything, as everybody, or as a rule
  // for everybody says. `certificate` is empty without one.
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
