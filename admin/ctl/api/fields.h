#pragma once

#include <string>
#include <string_view>

#include "admin/ctl/api/api.h"

// Fields of the API's objects as people read them. A field is a member, or "OUTER/INNER".
namespace gearstalk::ctl::api {

// A field's number; 0 where it is null or not there.
double Number(const Json& object, const char* field);
// A field as text, escaped for a terminal, a list with commas; "-" where it is null or not
// there, or an empty list.
std::string Word(const Json& object, const char* field);
std::string Age(const Json& object, const char* field);   // of seconds
std::string Size(const Json& object, const char* field);  // of bytes
std::string Count(const Json& object, const char* field);
// A field as its name says: NAME_seconds is an age, NAME_bytes a size, any other a Word.
std::string Shown(const Json& object, const char* field);
// A line of blocks; the height of each is proportional to its value.
std::string Blocks(const Json& values, std::size_t width);

// A table of objects. `columns`: HEADING=FIELD or HEADING=FIELD:FORM, with spaces between them. A
// heading that begins with ">" has its cells to the right; "_" in it is a space. The forms are
// those of kForms in fields.cc; a cell without one is as Shown says.
std::string TableOf(const Json& objects, std::string_view columns);
// Prints such a table of a list, or of one object.
Printer ShowIn(std::string_view columns);

inline constexpr std::string_view kTubeColumns =
    "TUBE=name >READY=jobs/ready >RESERVED=jobs/reserved >DELAYED=jobs/delayed "
    ">BURIED=jobs/buried >WORKERS=workers >WAITING=waiting "
    ">OLDEST=oldest_ready_age_seconds PAUSED=pause_left_seconds";
void ShowTube(const Json& tube);
void ShowJob(const Json& job);

}  // namespace gearstalk::ctl::api
