#pragma once

#include <absl/time/civil_time.h>
#include <absl/time/time.h>

#include <string>
#include <string_view>

#include "broker/base/status.h"

namespace gearstalk {

using TimeZone = absl::TimeZone;
using absl::CivilDay;
using absl::CivilSecond;

// The zone of an IANA name such as "Europe/Berlin", or "UTC". Names only: no file, no path.
Result<TimeZone> FindTimeZone(std::string_view name);

// RFC 3339 with the zone's offset: "2026-03-29T03:00:00+02:00". `time` is seconds since 1970.
std::string PrintTime(std::int64_t time, const TimeZone& zone);

}  // namespace gearstalk
