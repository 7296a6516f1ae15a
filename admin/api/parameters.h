#pragma once

#include <string_view>

#include "admin/api/json.h"

namespace gearstalk::api {

// A parameter of a path's query, as OpenAPI describes it.
Json QueryParameter(std::string_view path, std::string_view name);

}  // namespace gearstalk::api
