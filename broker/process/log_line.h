#pragma once

#include <span>
#include <string>
#include <string_view>

#include "broker/base/log.h"

namespace gearstalk {

// "trace" ... "critical", "off".
std::string_view NameOf(LogLevel level);
// Of a name that is one; any other is kInfo.
LogLevel LogLevelNamed(std::string_view name);
// gearmand's word, for its `verbose`.
std::string_view GearmandNameOf(LogLevel level);

// event name=value name="a value": text in quotes where it is not one plain word.
std::string TextLine(std::string_view event, std::span<const LogField> fields);
// The members of a JSON object without its braces: "event":"...","name":"value","name":5
std::string JsonMembers(std::string_view event, std::span<const LogField> fields);

}  // namespace gearstalk
