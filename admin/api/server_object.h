#pragma once

#include "admin/api/call.h"

namespace gearstalk::api {

Json ServerObject(const Engine& engine, const ConnectionList& connections, const Host& host,
                  const History& history, Time now);

}  // namespace gearstalk::api
