#include "admin/api/json_path.h"

#include <algorithm>
#include <charconv>

namespace gearstalk::api {

std::optional<JsonPath> JsonPath::Parse(std::string_view text) {
  constexpr std::size_t kMaxSteps = 64;
  if (!text.starts_with('$')) return std::nullopt;
  text.remove_prefix(1);
  JsonPath path;
  while (!text.empty() && path.steps_.size() < kMaxSteps) {
    const char kind = text.front();
    text.remove_prefix(1);
    if (kind == '.') {
      const std::size_t end = std::min(text.find_first_of(".["), text.size());
      if (end == 0) return std::nullopt;
      path.steps_.emplace_back(std::string(text.substr(0, end)));
      text.remove_prefix(end);
      continue;
    }
    const std::size_t end = text.find(']');
    if (kind != '[' || end == std::string_view::npos) return std::nullopt;
    std::string_view inside = text.substr(0, end);
    text.remove_prefix(end + 1);
    const bool quoted = inside.size() >= 2 && (inside.front() == '"' || inside.front() == '\'') &&
                        inside.back() == inside.front();
    if (quoted) {
      path.steps_.emplace_back(std::string(inside.substr(1, inside.size() - 2)));
      continue;
    }
    std::size_t index = 0;
    const auto [stop, error] = std::from_chars(inside.begin(), inside.end(), index);
    if (error != std::errc() || stop != inside.end()) return std::nullopt;
    path.steps_.emplace_back(index);
  }
  if (!text.empty()) return std::nullopt;
  return path;
}

}  // namespace gearstalk::api
