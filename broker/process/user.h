#pragma once

#include <string>

#include "broker/base/status.h"

namespace gearstalk {

// Gives up root for good: user, group and further groups become those of the user `name`. Does
// nothing if the process is that user's already.
Status BecomeUser(const std::string& name);

bool UserExists(const std::string& name);
bool GroupExists(const std::string& name);
// Empty if no user has this id.
std::string UserName(unsigned id);

// Whether the user `name` may read (R_OK) or write (W_OK) the file or directory. Root asks in a
// child process that becomes that user; others ask for themselves. To be called before there are
// threads.
bool MayAccess(const std::string& name, const std::string& path, int how);

// Whether the user `name` may chown a file of its own to this owner and group; empty: unchanged.
// Asks as MayAccess does.
bool MayChown(const std::string& name, const std::string& owner, const std::string& group);

}  // namespace gearstalk
