#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gearstalk {

// Reads a JSON text (RFC 8259) from the front. A function that returns false has met something that
// is no JSON, or not what it takes.
class JsonText {
 public:
  explicit JsonText(std::string_view text) : rest_(text) {}

  // What was not read yet.
  std::string_view rest() const { return rest_; }
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
  // `text` is what the string says. It lies in the JSON text, or in `unescaped` if it has escapes.
  bool String(std::string& unescaped, std::string_view& text);
  bool SkipString() { return Take('"') && SkipCharacters(rest_.size()) && Take('"'); }
  // In a string: some of its characters, about `most` bytes or up to its closing quote.
  bool SkipCharacters(std::size_t most);
  // A string, a number, `true`, `false` or `null`.
  bool SkipScalar();

 protected:
  std::string_view rest_;

 private:
  bool Digits();
  bool Number();
  std::size_t PlainText() const;
  bool Escape(std::string* text);
  bool Hex(std::uint32_t& code);
  bool Unicode(std::uint32_t& code);
};

}  // namespace gearstalk
