#include "broker/server/operator_act.h"

namespace gearstalk {

std::string_view ResultOf(Code code) {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kNotFound:
      return "not-found";
    case Code::kInvalid:
    case Code::kNotIgnored:
      return "bad-request";
    case Code::kInUse:
      return "in-use";
    case Code::kDraining:
      return "draining";
    case Code::kQueueFull:
      return "maxqueue";
    case Code::kGroupFull:
      return "group_jobs";
    case Code::kGroupMissing:
      return "group_missing";
    case Code::kOutOfMemory:
      return "memory";
    case Code::kTooManyTubes:
      return "tubes";
    case Code::kDiskLow:
      return "disk";
    case Code::kJournal:
    case Code::kIo:
    case Code::kCorrupt:
      break;
  }
  return "journal";
}

}  // namespace gearstalk
