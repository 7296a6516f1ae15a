#pragma once

#include <span>

#include "admin/http/assets.h"

namespace gearstalk {

// The files of the browser console, below /console/.
std::span<const HttpAsset> ConsoleAssets();

}  // namespace gearstalk
