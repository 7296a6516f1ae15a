// What a connection may do whose rights are limited.

#include <string>
#include <vector>

#include "proto_gearman/session.h"

namespace gearstalk::gearman {

// Why a packet is refused; nullptr if it is not.
const Error* GearmanSession::Denial(const Command& command, const Arguments& arguments) {
  if (command.right == right::kNone) return nullptr;
  if (command.shape.arguments == 0) {
    LeaveForbidden();
    return nullptr;
  }
  return peer_.access->Allows(command.right, arguments.at[0]) ? nullptr : &kNotAllowed;
}

// Rights may be taken away: they come anew then. What it can do was allowed when it said so.
void GearmanSession::LeaveForbidden() {
  if (watched_under_ == peer_.access) return;
  watched_under_ = peer_.access;
  std::vector<std::string> forbidden;
  for (const auto& watch : watched()) {
    const std::string& function = watch->tube.name();
    if (!peer_.access->Allows(right::kConsume, function)) forbidden.push_back(function);
  }
  for (const std::string& function : forbidden) {
    engine().Ignore(Now(), *this, function, /*may_be_last=*/true);
  }
}

}  // namespace gearstalk::gearman
