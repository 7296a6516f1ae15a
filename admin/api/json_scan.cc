#include "admin/api/json_scan.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "admin/api/json.h"
#include "broker/base/utf8.h"

namespace gearstalk::api {
namespace {

constexpr std::string_view kBlanks = " \t\n\r";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Four hexadecimal digits; -1: they are none.
int CodeUnit(std::string_view digits) {
  if (digits.size() < 4) return -1;
  int unit = 0;
  for (const char c : digits.substr(0, 4)) {
    const int digit = IsDigit(c)             ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

bool IsHigh(int unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool IsLow(int unit) { return unit >= 0xDC00 && unit < 0xE000; }

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
    const auto [stop, error] = std::from_chars(inside.begin(), inside.end(), index);
    if (error != std::errc() || stop != inside.end()) return std::nullopt;
    path.steps_.emplace_back(index);
  }
  if (!text.empty()) return std::nullopt;
  return path;
}

std::string TextOfJsonString(std::string_view quoted) {
  constexpr std::string_view kShort = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
  std::string text;
  std::string_view rest = quoted.substr(1, quoted.size() - 2);
  while (!rest.empty()) {
    const std::size_t plain = std::min(rest.find('\\'), rest.size());
    text += rest.substr(0, plain);
    rest.remove_prefix(plain);
    if (rest.empty()) break;
    if (rest[1] != 'u') {
      text += kMeant[kShort.find(rest[1])];
      rest.remove_prefix(2);
      continue;
    }
    int code = CodeUnit(rest.substr(2));
    rest.remove_prefix(6);
    if (IsHigh(code)) {
      code = 0x10000 + ((code - 0xD800) << 10) + (CodeUnit(rest.substr(2)) - 0xDC00);
      rest.remove_prefix(6);
    }
    AppendUtf8(text, static_cast<unsigned>(code));
  }
  return text;
}

bool JsonScan::Fail() {
  valid_ = false;
  expect_ = Expect::kEnd;
  at_ = text_.size();
  return false;
}

bool JsonScan::Read(std::string_view text, std::size_t bytes) {
  text_ = text;
  if (at_ == 0 && text.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  until_ = at_ + std::min(bytes, text.size() - at_);
  while (true) {
    if (expect_ != Expect::kString && expect_ != Expect::kNameString) {
      while (at_ < text_.size() && kBlanks.find(text_[at_]) != std::string_view::npos) {
        if (at_ >= until_) return false;
        ++at_;
      }
    }
    if (expect_ == Expect::kEnd) {
      // The parser, too, takes a NUL for the end of the text.
      valid_ = Front() == '\0' && valid_;
      return true;
    }
    if (at_ >= until_ && at_ < text_.size()) return false;
    if (!Step()) return expect_ == Expect::kEnd;
  }
}

// False: it failed, or a string continues beyond this slice.
bool JsonScan::Step() {
  const char c = Front();
  switch (expect_) {
    case Expect::kFirstElement:
      if (c == ']') return EndOpen();
      return BeginValue();
    case Expect::kValue:
      return BeginValue();
    case Expect::kFirstName:
      if (c == '}') return EndOpen();
      [[fallthrough]];
    case Expect::kName:
      if (c != '"' || open_.size() > kDeepestJson) return Fail();
      begin_ = at_++;
      expect_ = Expect::kNameString;
      return true;
    case Expect::kColon:
      if (c != ':') return Fail();
      ++at_;
      expect_ = Expect::kValue;
      return true;
    case Expect::kNext:
      if (c == (open_.back().object ? '}' : ']')) return EndOpen();
      if (c != ',') return Fail();
      ++at_;
      ++open_.back().index;
      on_path_ = !open_.back().object && ChildOnPath({});
      expect_ = open_.back().object ? Expect::kName : Expect::kValue;
      return true;
    case Expect::kString:
    case Expect::kNameString:
      return ReadString();
    case Expect::kEnd:
      break;
  }
  return false;
}

bool JsonScan::BeginValue() {
  const char c = Front();
  if (open_.size() > kDeepestJson) return Fail();
  if (on_path_) found_ = false;
  if (on_path_ && open_.size() == path_.steps().size()) ++tells_;
  begin_ = at_;
  if (c == '"') {
    ++at_;
    expect_ = Expect::kString;
    return true;
  }
  if (c == '{' || c == '[') {
    ++at_;
    open_.push_back({.object = c == '{', .on_path = on_path_, .begin = begin_});
    on_path_ = c == '[' && ChildOnPath({});
    expect_ = c == '{' ? Expect::kFirstName : Expect::kFirstElement;
    return true;
  }
  const bool read = c == 't'   ? ReadWord("true")
                    : c == 'f' ? ReadWord("false")
                    : c == 'n' ? ReadWord("null")
                               : ReadNumber();
  if (read) EndValue(begin_);
  return read;
}

bool JsonScan::ReadWord(std::string_view word) {
  if (!text_.substr(at_).starts_with(word)) return Fail();
  at_ += word.size();
  return true;
}

bool JsonScan::ReadNumber() {
  const std::size_t begin = at_;
  const auto digits = [this] {
    const std::size_t from = at_;
    while (IsDigit(Front())) ++at_;
    return at_ > from;
  };
  if (Front() == '-') ++at_;
  if (Front() == '0') {
    ++at_;
  } else if (!digits()) {
    return Fail();
  }
  bool whole = true;
  if (Front() == '.') {
    whole = false;
    ++at_;
    if (!digits()) return Fail();
  }
  if (Front() == 'e' || Front() == 'E') {
    whole = false;
    ++at_;
    if (Front() == '+' || Front() == '-') ++at_;
    if (!digits()) return Fail();
  }
  constexpr std::size_t kSurelyFinite = 300;  // digits
  if (whole && at_ - begin < kSurelyFinite) return true;
  const std::string number(text_.substr(begin, at_ - begin));
  return std::isfinite(std::strtod(number.c_str(), nullptr)) || Fail();
}

// Reads up to the closing quote or the end of the slice.
bool JsonScan::ReadString() {
  while (at_ < text_.size()) {
    if (at_ >= until_) return false;
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      if (expect_ == Expect::kNameString) {
        EndName();
      } else {
        EndValue(begin_);
      }
      return true;
    }
    if (static_cast<unsigned char>(c) < 0x20) return Fail();
    if (c == '\\') {
      if (!ReadEscape()) return Fail();
      continue;
    }
    const std::size_t length =
        static_cast<unsigned char>(c) < 0x80 ? 1 : CharacterSize(text_.substr(at_));
    if (length == 0) return Fail();
    at_ += length;
  }
  return Fail();
}

bool JsonScan::ReadEscape() {
  const std::string_view rest = text_.substr(at_);
  if (rest.size() < 2) return false;
  if (rest[1] != 'u') {
    at_ += 2;
    return std::string_view("\"\\/bfnrt").find(rest[1]) != std::string_view::npos;
  }
  const int unit = CodeUnit(rest.substr(2));
  at_ += 6;
  if (unit < 0 || IsLow(unit)) return false;
  if (!IsHigh(unit)) return true;
  at_ += 6;
  return rest.size() >= 12 && rest[6] == '\\' && rest[7] == 'u' && IsLow(CodeUnit(rest.substr(8)));
}

void JsonScan::EndName() {
  on_path_ = ChildOnPath(text_.substr(begin_, at_ - begin_));
  expect_ = Expect::kColon;
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
  const std::string_view value = text_.substr(begin, at_ - begin);
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
  ++at_;
  const Open open = open_.back();
  open_.pop_back();
  on_path_ = open.on_path;
  EndValue(open.begin);
  return true;
}

}  // namespace gearstalk::api
