#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "broker/policy/json_text.h"

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

// Finds the value at a path in a JSON text, in slices and without a copy of the text. Takes and
// refuses the same texts as ParseJson; of members with equal names the last counts, as there.
class JsonScan {
 public:
  // `element` is called with each element of the list that the value is, in its text form.
  // Both outlive the scan.
  JsonScan(const JsonPath& path, const std::function<void(std::string_view)>& element)
      : path_(path), element_(element) {}

  // Reads about `bytes` more of `text`, which is the same in all calls. True: it has ended.
  bool Read(std::string_view text, std::size_t bytes);

  // When it has ended: the value as it stands in the text; empty: there is none.
  std::string_view value() const { return valid_ && found_ ? value_ : std::string_view(); }
  // How many values at the path have begun: the last one counts, as a name may come again. When the
  // number rises, elements so far were those of an earlier one.
  std::uint64_t tells() const { return tells_; }

 private:
  enum class Expect : std::uint8_t {
    kValue,
    kFirstElement,  // or the end of the list
    kFirstName,     // or the end of the object
    kName,
    kColon,
    kNext,  // a comma, or the end of what is open
    kEnd,
  };
  struct Open {
    bool object;
    bool on_path;  // the value of the path is in it, or is it
    std::size_t index = 0;
    std::size_t begin = 0;
  };

  std::size_t at() const { return text_.size() - rest_.rest().size(); }
  bool Fail();
  bool Step();
  bool ReadValue();
  bool ReadString();
  void EndValue(std::size_t begin);
  bool EndOpen();
  bool ChildOnPath(std::string_view name) const;

  const JsonPath& path_;
  const std::function<void(std::string_view)>& element_;
  std::string_view text_{};
  JsonText rest_{{}};
  std::vector<Open> open_{};
  Expect expect_ = Expect::kValue;
  bool in_string_ = false;
  bool on_path_ = true;    // the value that comes next, or is read
  std::size_t begin_ = 0;  // of it, or of a name
  std::string_view value_{};
  bool found_ = false;
  bool valid_ = false;
  std::uint64_t tells_ = 0;
};

// The text of a JSON string that is well-formed, quotes included.
std::string TextOfJsonString(std::string_view quoted);

}  // namespace gearstalk::api
