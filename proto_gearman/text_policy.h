#pragma once

#include <optional>

#include "broker/base/status.h"
#include "proto_gearman/text_line.h"

// The admin lines of policies and schedules, which gearmand does not have; docs/policies.md.
namespace gearstalk::gearman {

class GearmanSession;

// Those that change something return how that ended.
std::optional<Code> PolicyLine(GearmanSession& session, const TextLine& line);
std::optional<Code> SchedulesLine(GearmanSession& session, const TextLine& line);
std::optional<Code> ScheduleLine(GearmanSession& session, const TextLine& line);

}  // namespace gearstalk::gearman
