#include "broker/engine/names.h"

namespace gearstalk {

std::string_view NameOf(JobState state) {
  switch (state) {
    case JobState::kReady:
      return "ready";
    case JobState::kReserved:
      return "reserved";
    case JobState::kDelayed:
      return "delayed";
    case JobState::kBuried:
      return "buried";
    case JobState::kGone:
      break;
  }
  return "gone";
}

std::string_view NameOf(HeldBack why) {
  switch (why) {
    case HeldBack::kRunning:
      return "running";
    case HeldBack::kRate:
      return "rate";
    case HeldBack::kNone:
      break;
  }
  return "none";
}

}  // namespace gearstalk
