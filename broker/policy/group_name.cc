#include "broker/policy/group_name.h"

#include <algorithm>
#include <cstddef>

#include "broker/policy/body_key.h"

namespace gearstalk {
namespace {

constexpr std::size_t kLongestLine = 250;  // bytes

// The body up to its first LF, without a CR before that.
std::string_view FirstLine(std::string_view body) {
  const std::string_view front = body.substr(0, kLongestLine + 2);
  const std::size_t end = front.find('\n');
  if (end == std::string_view::npos) return front.substr(0, kLongestLine);
  const bool cr = end > 0 && front[end - 1] == '\r';
  return front.substr(0, std::min(end - (cr ? 1 : 0), kLongestLine));
}

}  // namespace

std::string GroupSource::Text() const {
  switch (kind) {
    case Kind::kJson:
      return "json:" + pointer.text();
    case Kind::kLine:
      return "line";
    case Kind::kUnique:
      return "unique";
    case Kind::kNone:
      break;
  }
  return "none";
}

std::string_view GroupName(const GroupSource& source, std::string_view body,
                           std::string_view unique, GroupNameSpace& space) {
  std::string_view name;
  switch (source.kind) {
    case GroupSource::Kind::kJson:
      name = JsonValue(body, source.pointer, space.unescaped);
      break;
    case GroupSource::Kind::kLine:
      name = FirstLine(body);
      break;
    case GroupSource::Kind::kUnique:
      name = unique.substr(0, unique.find(':'));
      break;
    case GroupSource::Kind::kNone:
      break;
  }
  return ShortName(name, space.hash);
}

}  // namespace gearstalk
