#pragma once

#include "admin/api/call.h"

namespace gearstalk::api {

Json ServerObject(const Services& services, Time now);

}  // namespace gearstalk::api
