#pragma once

#include <optional>

#include "broker/base/status.h"
#include "proto_gearman/text_line.h"

// The admin lines of policies and schedules, which gearmand does not have; docs/policies.md.
namespace gearstalk::gearman {

class Session;

// Those that change something return their outcome.
std::optional<Code> PolicyLine(Session& session, const TextLine& line);
std::optional<Code> SchedulesLine(Session& session, const TextLine& line);
std::optional<Code> ScheduleLine(Session& session, const TextLine& line);

}  // namespace gearstalk::gearman
