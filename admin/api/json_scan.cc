#include "admin/api/json_scan.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "admin/api/json.h"
#include "broker/base/split.h"

namespace gearstalk::api {
namespace {

constexpr std::string_view kNumbers = "-0123456789";  // what they begin with
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Whether the parser can hold it.
bool IsFinite(std::string_view number) {
  constexpr std::size_t kSurelyFinite = 300;  // digits
  if (number.size() < kSurelyFinite && number.find_first_of("eE") == number.npos) return true;
  return std::isfinite(std::strtod(std::string(number).c_str(), nullptr));
}

}  // namespace

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
    if (!ParseNumber(inside, index)) return std::nullopt;
    path.steps_.emplace_back(index);
  }
  if (!text.empty()) return std::nullopt;
  return path;
}

std::string TextOfJsonString(std::string_view quoted) {
  std::string unescaped;
  std::string_view text;
  JsonText(quoted).String(unescaped, text);
  return std::string(text);
}

bool JsonScan::Read(std::string_view text, std::size_t bytes) {
  if (at() == 0) {
    text_ = text;
    rest_ = JsonText(text);
    rest_.TakeWord(kByteOrderMark);
  }
  const std::size_t until = at() + std::min(bytes, text.size() - at());
  bool more = true;
  do {
    if (!in_string_) rest_.SkipBlanks();
    more = in_string_ ? ReadString() : Step();
  } while (more && (at() < until || rest_.rest().empty()));
  return !more;
}

bool JsonScan::Fail() {
  valid_ = in_string_ = false;
  expect_ = Expect::kEnd;
  return false;
}

// False: it has ended.
bool JsonScan::Step() {
  switch (expect_) {
    case Expect::kFirstElement:
      if (rest_.Take(']')) return EndOpen();
      [[fallthrough]];
    case Expect::kValue:
      return ReadValue();
    case Expect::kFirstName:
      if (rest_.Take('}')) return EndOpen();
      [[fallthrough]];
    case Expect::kName:
      if (open_.size() > kDeepestJson || !rest_.Take('"')) return Fail();
      begin_ = at() - 1;
      return in_string_ = true;
    case Expect::kColon:
      if (!rest_.Take(':')) return Fail();
      expect_ = Expect::kValue;
      return true;
    case Expect::kNext:
      if (rest_.Take(open_.back().object ? '}' : ']')) return EndOpen();
      if (!rest_.Take(',')) return Fail();
      ++open_.back().index;
      on_path_ = !open_.back().object && ChildOnPath({});
      expect_ = open_.back().object ? Expect::kName : Expect::kValue;
      return true;
    case Expect::kEnd:
      // The parser, too, takes a NUL for the end of the text.
      valid_ = valid_ && (rest_.rest().empty() || rest_.rest().front() == '\0');
      return false;
  }
  return false;
}

bool JsonScan::ReadValue() {
  if (open_.size() > kDeepestJson) return Fail();
  if (on_path_) found_ = false;
  if (on_path_ && open_.size() == path_.steps().size()) ++tells_;
  begin_ = at();
  if (rest_.Take('"')) return in_string_ = true;
  const bool object = rest_.rest().starts_with('{');
  if (rest_.Take('{') || rest_.Take('[')) {
    open_.push_back({.object = object, .on_path = on_path_, .begin = begin_});
    on_path_ = !object && ChildOnPath({});
    expect_ = object ? Expect::kFirstName : Expect::kFirstElement;
    return true;
  }
  const bool number = !rest_.rest().empty() && kNumbers.find(rest_.rest().front()) != kNumbers.npos;
  if (!rest_.SkipScalar()) return Fail();
  if (number && !IsFinite(text_.substr(begin_, at() - begin_))) return Fail();
  EndValue(begin_);
  return true;
}

// Some more of a name, or of a value.
bool JsonScan::ReadString() {
  constexpr std::size_t kPiece = 1024;
  if (!rest_.SkipCharacters(kPiece)) return Fail();
  if (!rest_.Take('"')) return true;
  in_string_ = false;
  if (expect_ == Expect::kValue || expect_ == Expect::kFirstElement) {
    EndValue(begin_);
  } else {
    on_path_ = ChildOnPath(text_.substr(begin_, at() - begin_));
    expect_ = Expect::kColon;
  }
  return true;
}

// Whether the next child of the open container is the next step of the path. `name`: with its
// quotes.
bool JsonScan::ChildOnPath(std::string_view name) const {
  const Open& open = open_.back();
  const auto& steps = path_.steps();
  if (!open.on_path || open_.size() > steps.size()) return false;
  const auto& step = steps[open_.size() - 1];
  const auto* const key = std::get_if<std::string>(&step);
  if (key == nullptr) return !open.object && std::get<std::size_t>(step) == open.index;
  if (!open.object || name.size() > 6 * key->size() + 2) return false;
  return TextOfJsonString(name) == *key;
}

void JsonScan::EndValue(std::size_t begin) {
  const std::size_t depth = open_.size();
  const std::string_view value = text_.substr(begin, at() - begin);
  if (on_path_ && depth == path_.steps().size()) {
    found_ = true;
    value_ = value;
  }
  if (depth > 0 && depth == path_.steps().size() + 1 && open_.back().on_path &&
      !open_.back().object) {
    element_(value);
  }
  expect_ = depth == 0 ? Expect::kEnd : Expect::kNext;
  if (depth == 0) valid_ = true;
}

bool JsonScan::EndOpen() {
  const Open open = open_.back();
  open_.pop_back();
  on_path_ = open.on_path;
  EndValue(open.begin);
  return true;
}

}  // namespace gearstalk::api
