#include "broker/policy/json_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <utility>

#include "broker/base/utf8.h"

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

// Goes through a JSON text (RFC 8259) from the front. A function that returns false has met
// something that is no JSON.
class JsonText {
 public:
  explicit JsonText(std::string_view text) : rest_(text) {}

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
    if (rest_.front() == '"') return String(&unescaped, text) ? text : std::string_view();
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
  void SkipBlanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n' ||
                              rest_.front() == '\t' || rest_.front() == '\r')) {
      rest_.remove_prefix(1);
    }
  }
  bool Take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool TakeWord(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  // Behind the brace of an object.
  bool GoToMember(std::string_view wanted, std::string& unescaped) {
    SkipBlanks();
    do {
      std::string_view name;
      SkipBlanks();
      if (!String(&unescaped, name)) return false;
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
    std::string_view name;
    SkipBlanks();
    if (!String(nullptr, name)) return false;
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

  bool SkipScalar() {
    if (rest_.empty()) return false;
    std::string_view text;
    switch (rest_.front()) {
      case '"':
        return String(nullptr, text);
      case 'n':
        return TakeWord("null");
      case 't':
        return TakeWord("true");
      case 'f':
        return TakeWord("false");
      default:
        return Number();
    }
  }

  bool Digits() {
    std::size_t size = 0;
    while (size < rest_.size() && rest_[size] >= '0' && rest_[size] <= '9') ++size;
    rest_.remove_prefix(size);
    return size > 0;
  }

  bool Number() {
    Take('-');
    if (!Take('0') && !Digits()) return false;
    if (Take('.') && !Digits()) return false;
    if (!Take('e') && !Take('E')) return true;
    if (!Take('+')) Take('-');
    return Digits();
  }

  // How many bytes at the front are plain text of a string: no quote, escape, control character,
  // and nothing beyond ASCII. Looks at 8 at a time.
  std::size_t PlainText() const {
    constexpr std::uint64_t kOnes = ~std::uint64_t{0} / 255, kHigh = kOnes * 0x80;
    std::size_t at = 0;
    for (; at + 8 <= rest_.size(); at += 8) {
      std::uint64_t bytes = 0;
      std::memcpy(&bytes, rest_.data() + at, 8);
      if constexpr (std::endian::native == std::endian::big) bytes = __builtin_bswap64(bytes);
      const std::uint64_t quote = bytes ^ kOnes * '"', escape = bytes ^ kOnes * '\\';
      // The lowest bit that is set is right; those above it need not be.
      const std::uint64_t special = (bytes | ((bytes - kOnes * ' ') & ~bytes) |
                                     ((quote - kOnes) & ~quote) | ((escape - kOnes) & ~escape)) &
                                    kHigh;
      if (special != 0) return at + static_cast<std::size_t>(std::countr_zero(special)) / 8;
    }
    const auto plain = [](char c) { return c >= ' ' && c != '"' && c != '\\' && c < 0x7f; };
    while (at < rest_.size() && plain(rest_[at])) ++at;
    return at;
  }

  // `text` is the string's, if `unescaped` is not nullptr.
  bool String(std::string* unescaped, std::string_view& text) {
    if (!Take('"')) return false;
    const char* const begin = rest_.data();
    bool escapes = false;
    for (;;) {
      const std::size_t plain = PlainText();
      if (escapes && unescaped != nullptr) unescaped->append(rest_.substr(0, plain));
      rest_.remove_prefix(plain);
      if (rest_.empty()) return false;
      const char c = rest_.front();
      if (c == '"') break;
      if (c == '\\') {
        if (!std::exchange(escapes, true) && unescaped != nullptr) {
          unescaped->assign(begin, rest_.data());
        }
        if (!Escape(unescaped)) return false;
        continue;
      }
      const std::size_t size = CharacterSize(rest_);
      if (size == 0 || static_cast<unsigned char>(c) < ' ') return false;
      if (escapes && unescaped != nullptr) unescaped->append(rest_.substr(0, size));
      rest_.remove_prefix(size);
    }
    if (unescaped != nullptr) {
      text = escapes ? std::string_view(*unescaped) : std::string_view(begin, rest_.data());
    }
    return Take('"');
  }

  bool Escape(std::string* text) {
    static constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (!Take('\\') || rest_.empty()) return false;
    std::uint32_t code = 0;
    if (rest_.front() == 'u') {
      if (!Unicode(code)) return false;
    } else {
      const std::size_t at = kEscapes.find(rest_.front());
      if (at == std::string_view::npos) return false;
      code = static_cast<unsigned char>(kMeanings[at]);
      rest_.remove_prefix(1);
    }
    if (text != nullptr) AppendUtf8(*text, code);
    return true;
  }

  bool Hex(std::uint32_t& code) {
    if (!Take('u') || rest_.size() < 4) return false;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + 4, code, 16);
    if (error != std::errc() || end != rest_.data() + 4) return false;
    rest_.remove_prefix(4);
    return true;
  }

  // Four digits, or two times four: a pair of surrogates.
  bool Unicode(std::uint32_t& code) {
    if (!Hex(code) || (code >= 0xDC00 && code <= 0xDFFF)) return false;
    if (code < 0xD800 || code > 0xDBFF) return true;
    std::uint32_t low = 0;
    if (!Take('\\') || !Hex(low) || low < 0xDC00 || low > 0xDFFF) return false;
    code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
    return true;
  }

  std::string_view rest_;
  OpenContainers path_;  // those that the pointer leads through
};

}  // namespace

JsonPointer::JsonPointer(std::string_view text) : text_(text) {
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::string_view part = text.substr(0, text.find('/'));
    Part step{UnescapedPart(part)};
    std::uint64_t index = 0;
    std::from_chars(part.data(), part.data() + part.size(), index);
    if (fmt::format("{}", index) == part) step.index = index;
    parts_.push_back(std::move(step));
    text.remove_prefix(part.size());
  }
}

std::string_view JsonValue(std::string_view body, const JsonPointer& pointer,
                           std::string& unescaped) {
  JsonText text(body);
  return text.GoTo(pointer, unescaped) ? text.Scalar(unescaped) : std::string_view();
}

std::string_view JsonValueOfWhole(std::string_view body, const JsonPointer& pointer,
                                  std::string& unescaped) {
  JsonText text(body);
  if (!text.GoTo(pointer, unescaped)) return {};
  const std::string_view value = text.Scalar(unescaped);
  return !value.empty() && text.SkipRest() ? value : std::string_view();
}

}  // namespace gearstalk
