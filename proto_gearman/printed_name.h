#pragma once

#include <string>
#include <string_view>

namespace gearstalk::gearman {

// Appends a name to a line of an admin table and escapes what would break the table: control bytes
// become \t, \n, \r or \xHH, a backslash is doubled, and a dot at the beginning,
// which would end the table, becomes \x2e. Everything else, UTF-8 too, stays as it is.
void AppendName(std::string& line, std::string_view name);

// The same for columns separated by spaces: a space becomes \x20, and a dot stays.
void AppendWord(std::string& line, std::string_view name);

}  // namespace gearstalk::gearman
