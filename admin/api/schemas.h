#pragma once

#include "admin/api/json.h"

namespace gearstalk::api {

// The schemas of all objects in requests and answers, by name.
Json Schemas();

}  // namespace gearstalk::api
