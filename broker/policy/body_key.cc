#include "broker/policy/body_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "broker/base/utf8.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace gearstalk {
namespace {

constexpr std::size_t kLongestKey = 64;  // bytes, Gearman's limit

// One part of a pointer: the name of a member, or the place of an element.
struct Part {
  static constexpr std::uint64_t kNoIndex = UINT64_MAX;
  std::string name;
  std::uint64_t index = kNoIndex;
};

// "~1" is "/", "~0" is "~".
std::string Unescaped(std::string_view part) {
  std::string text;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const bool escape = part[i] == '~' && i + 1 < part.size();
    text += escape ? (part[++i] == '1' ? '/' : '~') : part[i];
  }
  return text;
}

std::vector<Part> PartsOf(std::string_view pointer) {
  std::vector<Part> parts;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::string_view text = pointer.substr(0, pointer.find('/'));
    Part part{Unescaped(text)};
    std::uint64_t index = 0;
    std::from_chars(text.data(), text.data() + text.size(), index);
    if (fmt::format("{}", index) == text) part.index = index;
    parts.push_back(std::move(part));
    pointer.remove_prefix(text.size());
  }
  return parts;
}

// Reads a JSON text (RFC 8259) to its end, and notes the scalar that the pointer leads to. Of
// members with equal names the last counts, as for most readers. Keeps one bit for each open
// container.
class Scan {
 public:
  Scan(std::string_view text, std::vector<Part> parts) : rest_(text), parts_(std::move(parts)) {}

  // Whether the text is one JSON value.
  bool Run() {
    if (!Value()) return false;
    while (!open_.empty()) {
      if (!Step()) return false;
    }
    SkipBlanks();
    return rest_.empty();
  }
  // The scalar as text; empty: there is none.
  const std::string& found() const { return found_; }

 private:
  void SkipBlanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }
  bool Take(char c) {
    SkipBlanks();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool TakeWord(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  // What comes in an open container: its end, or a member or an element.
  bool Step() {
    const bool object = open_.back();
    if (Take(object ? '}' : ']')) {
      Close();
      return true;
    }
    if (!std::exchange(first_, false) && !Take(',')) return false;
    return (!object || Name()) && Value();
  }

  bool OnPath() const { return open_.size() == on_path_; }

  bool Name() {
    SkipBlanks();
    name_.clear();
    return String(OnPath() ? &name_ : nullptr) && Take(':');
  }

  // Whether the pointer leads to or through the value that begins now.
  bool Fits() {
    if (!OnPath()) return false;
    if (open_.empty()) return true;
    const Part& part = parts_[on_path_ - 1];
    return open_.back() ? part.name == name_ : part.index == index_++;
  }

  bool Value() {
    SkipBlanks();
    const bool fits = Fits();
    if (fits) found_.clear();
    if (rest_.empty()) return false;
    const bool wanted = fits && open_.size() == parts_.size();
    const std::string_view before = rest_;
    switch (rest_.front()) {
      case '{':
      case '[':
        Open(fits && !wanted);
        return true;
      case '"':
        return String(wanted ? &found_ : nullptr);
      case 'n':
        return TakeWord("null");
      case 't':
      case 'f':
        if (!TakeWord("true") && !TakeWord("false")) return false;
        break;
      default:
        if (!Number()) return false;
    }
    if (wanted) found_ = before.substr(0, before.size() - rest_.size());
    return true;
  }

  void Open(bool on_path) {
    open_.push_back(rest_.front() == '{');
    rest_.remove_prefix(1);
    first_ = true;
    if (!on_path) return;
    on_path_ = open_.size();
    index_ = 0;
  }

  void Close() {
    first_ = false;
    if (OnPath()) {
      --on_path_;
      index_ = Part::kNoIndex / 2;  // behind the element that the pointer leads through
    }
    open_.pop_back();
  }

  bool Digits() {
    const std::size_t size = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    rest_.remove_prefix(size);
    return size > 0;
  }

  bool Number() {
    TakeWord("-");
    if (!TakeWord("0") && !Digits()) return false;
    if (TakeWord(".") && !Digits()) return false;
    if (!TakeWord("e") && !TakeWord("E")) return true;
    if (!TakeWord("+")) TakeWord("-");
    return Digits();
  }

  // Appends its text to `text`, if there is one.
  bool String(std::string* text) {
    if (!TakeWord("\"")) return false;
    for (;;) {
      const auto* const end = std::find_if(rest_.begin(), rest_.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < ' ' || byte >= 0x80 || c == '"' || c == '\\';
      });
      std::size_t size = static_cast<std::size_t>(end - rest_.begin());
      if (size == rest_.size()) return false;
      if (size == 0 && static_cast<unsigned char>(*end) >= 0x80) {
        size = CharacterSize(rest_);
        if (size == 0) return false;
      }
      if (text != nullptr) text->append(rest_.substr(0, size));
      rest_.remove_prefix(size);
      if (size > 0) continue;
      if (TakeWord("\"")) return true;
      if (!Escape(text)) return false;
    }
  }

  bool Escape(std::string* text) {
    static constexpr std::string_view kEscapes = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (!TakeWord("\\") || rest_.empty()) return false;
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
    if (!TakeWord("u") || rest_.size() < 4) return false;
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
    if (!TakeWord("\\") || !Hex(low) || low < 0xDC00 || low > 0xDFFF) return false;
    code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
    return true;
  }

  std::string_view rest_;
  const std::vector<Part> parts_;
  std::vector<bool> open_{};  // the open containers; true: an object
  std::size_t on_path_ = 0;   // how many of them, from the outermost, the pointer leads into
  std::uint64_t index_ = 0;   // of the next element in the innermost of those
  std::string name_{};        // of the last member in the innermost of those
  bool first_ = false;        // the container that was opened last had nothing yet
  std::string found_{};
};

}  // namespace

std::string BodyKey(std::string_view body, std::string_view pointer) {
  Scan scan(body, PartsOf(pointer));
  if (!scan.Run()) return {};
  const std::string& key = scan.found();
  // A NUL would end it in Gearman's packets.
  const bool fits = key.size() <= kLongestKey && key.find('\0') == std::string::npos;
  if (fits) return key;
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace gearstalk
