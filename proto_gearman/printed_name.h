#pragma once

#include <string>
#include <string_view>

namespace gearstalk::gearman {

// Appends a name to a line of an admin table so that the line keeps its columns and its place:
// control bytes become \t, \n, \r or \xHH, a backslash is doubled, and a dot at the beginning,
// which would end the table, becomes \x2e. Everything else, UTF-8 too, stays as it is.
void AppendName(std::string& line, std::string_view name);

// The same for columns that blanks separate: a blank becomes \x20, and a dot may stand anywhere.
void AppendWord(std::string& line, std::string_view name);

}  // namespace gearstalk::gearman
