#pragma once

#include <string>
#include <string_view>

#include "broker/base/utf8.h"

// What people read: lines, tables, sizes, ages.
namespace gearstalk::ctl::api {

// A line on standard output.
void Say(const std::string& line);

// Whether Bold does anything: "always", "never", or "auto": for a terminal that is not dumb, unless
// NO_COLOR is set.
void UseColor(std::string_view when);
// The text, so that it stands out.
std::string Bold(std::string_view text);

// Columns of a terminal that it takes.
std::size_t Width(std::string_view text);
// As much as so many columns hold; "…" at the end says that there is more.
std::string Cut(std::string_view text, std::size_t columns);

std::string SizeText(double bytes);   // "1.2 MB"
std::string AgeText(double seconds);  // "3m 4s"

}  // namespace gearstalk::ctl::api
