#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gearstalk::api {

// "$.a.b[0]": where a value stands in a JSON text.
class JsonPath {
 public:
  // Nothing: not a path.
  static std::optional<JsonPath> Parse(std::string_view text);

  // The name of a member, or the place of an element.
  using Step = std::variant<std::string, std::size_t>;
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
};

}  // namespace gearstalk::api
