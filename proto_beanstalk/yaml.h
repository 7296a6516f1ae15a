#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace gearstalk::beanstalk {

// Builds the YAML of a statistics reply: one mapping or one list of scalars.
class Yaml {
 public:
  Yaml() : text_("---\n") {}

  void Number(std::string_view key, std::uint64_t number);
  // A plain scalar: `word` needs no quotes.
  void Word(std::string_view key, std::string_view word);
  void Quoted(std::string_view key, std::string_view text);
  // A plain scalar where a YAML reader takes it for this text, else a quoted one.
  void Text(std::string_view key, std::string_view text);
  // A row of a list, written like Text.
  void Item(std::string_view text);

  const std::string& text() const { return text_; }
  // The text so far; later rows are appended to it.
  std::string Take() { return std::exchange(text_, {}); }

 private:
  void Key(std::string_view key);
  void Scalar(std::string_view text);

  std::string text_;
};

// Whether YAML 1.1 and 1.2 read `text`, unquoted behind "key: " or "- ", as a string, and not as a
// number, a date, a truth value, null or syntax.
bool IsPlainScalar(std::string_view text);

// Appends `text` as a double-quoted scalar. Printable UTF-8 stays as it is, every other byte beyond
// ASCII becomes \xNN.
void AppendQuoted(std::string& out, std::string_view text);

}  // namespace gearstalk::beanstalk
