#pragma once

#include "admin/api/json.h"

namespace gearstalk::api {

// Every object that requests and answers hold, by name.
Json Schemas();

}  // namespace gearstalk::api
