#pragma once

#include <span>
#include <string>
#include <string_view>

#include "broker/base/log.h"

namespace gearstalk {

// Appends `text` as a JSON string with its quotes, on one line and in ASCII's printable range or
// valid UTF-8: what is no UTF-8 becomes U+FFFD, byte by byte.
void AppendJsonText(std::string& out, std::string_view text);

// "trace" ... "critical", "off".
std::string_view NameOf(LogLevel level);
// Of a name that is one; any other is kInfo.
LogLevel LogLevelNamed(std::string_view name);
// syslog's number, see sd-daemon(3).
int PriorityOf(LogLevel level);
// gearmand's word, for its `verbose`.
std::string_view GearmandNameOf(LogLevel level);

// event name=value name="a value": text in quotes where it is not one plain word.
std::string TextLine(std::string_view event, std::span<const LogField> fields);
// The members of a JSON object without its braces: "event":"...","name":"value","name":5
std::string JsonMembers(std::string_view event, std::span<const LogField> fields);

}  // namespace gearstalk
