#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gearstalk {

// Bytes of the character of UTF-8 that `text`, which is not empty, begins with; 0: it begins with
// none. Overlong forms, surrogates and what is beyond U+10FFFF are none (RFC 3629, section 4).
std::size_t CharacterSize(std::string_view text);
bool IsUtf8(std::string_view text);
// The code point of one character of UTF-8.
char32_t CodeOf(std::string_view character);
// Characters that control a terminal, change the direction of writing, or are invisible.
bool IsHidden(char32_t code);
// The text with escapes for hidden characters and for bytes that are no UTF-8, so that no name can
// change a terminal.
std::string Visible(std::string_view text);
// Appends the character `code`, which is at most U+10FFFF and no surrogate.
void AppendUtf8(std::string& text, std::uint32_t code);

}  // namespace gearstalk
