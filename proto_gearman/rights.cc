// The packets of connections with limited rights.

#include "proto_gearman/session.h"

namespace gearstalk::gearman {

// The error with which a packet is refused; nullptr if it is allowed.
const Error* Session::Denial(const Command& command, const Arguments& arguments) {
  if (command.right == right::kNone) return nullptr;
  if (command.shape.arguments == 0) {
    watch_rights_.Apply(peer_.access, engine(), Now(), *this);
    return nullptr;
  }
  return peer_.access->Allows(command.right, arguments.at[0]) ? nullptr : &kNotAllowed;
}

}  // namespace gearstalk::gearman
