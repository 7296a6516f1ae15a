#pragma once

#include <string_view>

#include "admin/api/call.h"
#include "admin/api/json.h"
#include "broker/base/clock.h"
#include "broker/engine/engine.h"
#include "broker/engine/names.h"
#include "broker/server/protocol.h"

// Jobs, tubes and connections as JSON. Every number is taken from where /metrics takes it.
namespace gearstalk::api {

// nullptr: the tube has gone with the act that is answered.
Json TubeObject(const Engine& engine, std::string_view name, const Tube* tube, Time now);
// `preview`: the first bytes of the body as text.
Json JobObject(const Engine& engine, const Job& job, Time now, bool preview);
Json ConnectionObject(const ConnectionList::Entry& entry, Time now);

Json ServerObject(const Services& services, Time now);

}  // namespace gearstalk::api
