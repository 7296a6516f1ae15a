#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "broker/policy/json_value.h"

namespace gearstalk {

// Where the group of a job is found.
struct GroupSource {
  enum class Kind : std::uint8_t { kNone, kJson, kLine, kUnique };
  Kind kind = Kind::kNone;
  JsonPointer pointer = {};  // kJson

  // "none", "json:POINTER", "line" or "unique".
  std::string Text() const;
  bool ReadsBody() const { return kind == Kind::kJson || kind == Kind::kLine; }
  bool operator==(const GroupSource&) const = default;
};

// Memory for a name that does not lie in its job as it is.
struct GroupNameSpace {
  std::string unescaped = {};
  std::string hash = {};
};

// The name of the group of a job, 64 bytes at most; empty: it has none. `unique` is the job's key
// as a text; empty if the body is the key. Where the name is the front of the body or of the key,
// it is read up to there only. Pure.
std::string_view GroupName(const GroupSource& source, std::string_view body,
                           std::string_view unique, GroupNameSpace& space);

}  // namespace gearstalk
