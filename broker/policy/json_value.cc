#include "broker/policy/json_value.h"

#include <fmt/format.h>

#include "broker/base/split.h"
#include "broker/policy/json_text.h"

namespace gearstalk {
namespace {

// "~1" is "/", "~0" is "~".
std::string UnescapedPart(std::string_view part) {
  std::string text;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const bool escape = part[i] == '~' && i + 1 < part.size();
    text += escape ? (part[++i] == '1' ? '/' : '~') : part[i];
  }
  return text;
}

// The containers that are open: a bit each, set for an object.
class OpenContainers {
 public:
  bool empty() const { return depth_ == 0; }
  bool innermost_is_object() const { return (last_ & 1U) != 0; }
  void Push(bool object) {
    if (depth_ > 0 && depth_ % 64 == 0) outer_.push_back(last_);
    last_ = last_ << 1U | static_cast<std::uint64_t>(object);
    ++depth_;
  }
  void Pop() {
    last_ >>= 1U;
    if (--depth_ == 0 || depth_ % 64 != 0) return;
    last_ = outer_.back();
    outer_.pop_back();
  }

 private:
  std::uint64_t last_ = 0;  // the innermost ones, the last in the lowest bit
  std::size_t depth_ = 0;
  std::vector<std::uint64_t> outer_{};  // 64 each; the common case has none
};

// To the value that a pointer leads to, and from there to the end of the text.
class JsonWalk : public JsonText {
 public:
  using JsonText::JsonText;

  // To the value that the pointer leads to; false: there is none.
  bool GoTo(const JsonPointer& pointer, std::string& unescaped) {
    for (const JsonPointer::Part& part : pointer.parts()) {
      SkipBlanks();
      path_.Push(rest_.starts_with('{'));
      if (Take('{') ? !GoToMember(part.name, unescaped) : !(Take('[') && GoToElement(part.index)))
        return false;
    }
    SkipBlanks();
    return !rest_.empty();
  }

  std::string_view Scalar(std::string& unescaped) {
    const std::string_view before = rest_;
    std::string_view text;
    if (rest_.front() == '"') return String(unescaped, text) ? text : std::string_view();
    if (rest_.front() == 'n' || !SkipScalar()) return {};
    return before.substr(0, before.size() - rest_.size());
  }

  // Behind the value that the pointer leads to: whether all that follows is JSON, too.
  bool SkipRest() {
    while (SkipToNext(path_)) {
      if (path_.empty()) {
        SkipBlanks();
        return rest_.empty();
      }
      if (!SkipValue()) return false;
    }
    return false;
  }

 private:
  // Behind the brace of an object.
  bool GoToMember(std::string_view wanted, std::string& unescaped) {
    SkipBlanks();
    do {
      std::string_view name;
      SkipBlanks();
      if (!String(unescaped, name)) return false;
      const bool found = name == wanted;
      SkipBlanks();
      if (!Take(':')) return false;
      if (found) return true;
      if (!SkipValue()) return false;
      SkipBlanks();
    } while (Take(','));
    return false;
  }

  // Behind the bracket of a list.
  bool GoToElement(std::uint64_t index) {
    SkipBlanks();
    if (index == JsonPointer::Part::kNoIndex || rest_.starts_with(']')) return false;
    for (; index > 0; --index) {
      if (!SkipValue()) return false;
      SkipBlanks();
      if (!Take(',')) return false;
    }
    return true;
  }

  bool SkipName() {
    SkipBlanks();
    if (!SkipString()) return false;
    SkipBlanks();
    return Take(':');
  }

  // A value with all that is in it.
  bool SkipValue() {
    OpenContainers open;
    do {
      SkipBlanks();
      const bool object = rest_.starts_with('{');
      if (Take('{') || Take('[')) {
        open.Push(object);
        SkipBlanks();
        if (!Take(object ? '}' : ']')) {
          if (object && !SkipName()) return false;
          continue;
        }
        open.Pop();
      } else if (!SkipScalar()) {
        return false;
      }
      if (!SkipToNext(open)) return false;
    } while (!open.empty());
    return true;
  }

  // From the end of a value to the next in its container, or in one around it.
  bool SkipToNext(OpenContainers& open) {
    while (!open.empty()) {
      SkipBlanks();
      const bool object = open.innermost_is_object();
      if (Take(',')) return !object || SkipName();
      if (!Take(object ? '}' : ']')) return false;
      open.Pop();
    }
    return true;
  }

  OpenContainers path_;  // those that the pointer leads through
};

}  // namespace

JsonPointer::JsonPointer(std::string_view text) : text_(text) {
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::string_view part = text.substr(0, text.find('/'));
    Part step{UnescapedPart(part)};
    std::uint64_t index = 0;
    if (ParseNumber(part, index) && fmt::format("{}", index) == part) step.index = index;
    parts_.push_back(std::move(step));
    text.remove_prefix(part.size());
  }
}

std::string_view JsonValue(std::string_view body, const JsonPointer& pointer,
                           std::string& unescaped) {
  JsonWalk text(body);
  return text.GoTo(pointer, unescaped) ? text.Scalar(unescaped) : std::string_view();
}

std::string_view JsonValueOfWhole(std::string_view body, const JsonPointer& pointer,
                                  std::string& unescaped) {
  JsonWalk text(body);
  if (!text.GoTo(pointer, unescaped)) return {};
  const std::string_view value = text.Scalar(unescaped);
  return !value.empty() && text.SkipRest() ? value : std::string_view();
}

}  // namespace gearstalk
