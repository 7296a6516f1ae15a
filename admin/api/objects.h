#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "admin/api/call.h"
#include "admin/api/json.h"
#include "broker/base/clock.h"
#include "broker/engine/engine.h"
#include "broker/engine/group_list.h"
#include "broker/engine/names.h"
#include "broker/server/protocol.h"

// What the engine and the server hold as JSON: one table of members for each, in objects.cc. Every
// number is taken from where /metrics takes it.
namespace gearstalk::api {

// nullptr: the tube has gone with the act that is answered.
Json TubeObject(const Engine& engine, std::string_view name, const Tube* tube, Time now);
// `preview`: the first bytes of the body as text.
Json JobObject(const Engine& engine, const Job& job, Time now, bool preview);
Json GroupObject(const GroupRow& row, Time now);
Json ConnectionObject(const ConnectionList::Entry& entry, Time now);
Json ServerObject(const Services& services, Time now);
Json ScheduleObject(const RunningSchedule& schedule);
// `held`: its jobs that are stored and in no queue.
Json TransferObject(std::string_view name, const transfer::Mark& mark, std::uint64_t held);

// Calls `describe` for each member of each of them, and of the objects in them.
using DescribeMember = std::function<void(std::string_view object, std::string_view name,
                                          std::string_view type, std::string_view means)>;
void DescribeObjects(const DescribeMember& describe);

}  // namespace gearstalk::api
