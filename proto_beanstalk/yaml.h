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
  // A row of a list: plain if it is a beanstalk tube name, else quoted.
  void TubeItem(std::string_view tube);

  const std::string& text() const { return text_; }
  // What there is; rows that follow go on behind it.
  std::string Take() { return std::exchange(text_, {}); }

 private:
  void Key(std::string_view key);

  std::string text_;
};

// Appends `text` as a double-quoted scalar. Printable UTF-8 stays as it is, every other byte beyond
// ASCII becomes \xNN.
void AppendQuoted(std::string& out, std::string_view text);

}  // namespace gearstalk::beanstalk
