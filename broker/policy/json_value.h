#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gearstalk {

// An RFC 6901 pointer, taken apart once. Without a text it leads to the whole document.
class JsonPointer {
 public:
  // One step: the name of a member, or the place of an element.
  struct Part {
    static constexpr std::uint64_t kNoIndex = UINT64_MAX;
    std::string name;
    std::uint64_t index = kNoIndex;
    bool operator==(const Part&) const = default;
  };

  JsonPointer() = default;
  explicit JsonPointer(std::string_view text);
  const std::string& text() const { return text_; }
  const std::vector<Part>& parts() const { return parts_; }
  bool operator==(const JsonPointer&) const = default;

 private:
  std::string text_;
  std::vector<Part> parts_;
};

// The scalar that the pointer leads to: a string's text, or a number, `true` or `false` as written.
// Empty: null, an empty string, a list or an object, nothing there, or no JSON up to there. Reads
// the body up to the end of the value only, so of members with equal names the first counts. The
// text lies in the body, or in `unescaped` if it has escapes.
std::string_view JsonValue(std::string_view body, const JsonPointer& pointer,
                           std::string& unescaped);

// The same, but empty unless all of the body is one JSON value.
std::string_view JsonValueOfWhole(std::string_view body, const JsonPointer& pointer,
                                  std::string& unescaped);

}  // namespace gearstalk
