#pragma once

#include "broker/base/status.h"

namespace gearstalk::ctl {

// The exit codes; docs/migration.md lists them.
enum Exit : int {
  kDone = 0,
  kFailed = 1,  // connection, disk, refusal: the same command continues it
  kBadUsage = 2,
  kDoneWithRest = 3,  // some jobs were left, refused, joined, altered or are uncertain
  kDamaged = 4,       // the source is damaged; nothing was done
  kSourceInUse = 5,   // the source is in use, or not the one that the mark knows
};

inline int ExitOf(const Status& status) {
  switch (status.code()) {
    case Code::kOk:
      return kDone;
    case Code::kInvalid:
      return kBadUsage;
    case Code::kCorrupt:
      return kDamaged;
    case Code::kInUse:
      return kSourceInUse;
    default:
      return kFailed;
  }
}

}  // namespace gearstalk::ctl
