#pragma once

#include <string>

namespace gearstalk {

// For files that root makes in the directory of a service's user. 0 or -errno; nothing is done by
// another user than root, or where the owner is right.
int GiveToOwnerOf(const std::string& directory, const std::string& path);

}  // namespace gearstalk
