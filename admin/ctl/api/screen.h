#pragma once

namespace gearstalk::ctl::api {

// Whether a table can be drawn over and over: not to a file, and not to a terminal that only
// prints.
bool HasScreen();

}  // namespace gearstalk::ctl::api
