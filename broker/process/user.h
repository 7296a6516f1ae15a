#pragma once

#include <string>

#include "broker/base/status.h"

namespace gearstalk {

// Gives up root for good: user, group and further groups become those of the user `name`. Does
// nothing if the process is that user's already.
Status BecomeUser(const std::string& name);

}  // namespace gearstalk
