#pragma once

#include "broker/base/status.h"

namespace gearstalk::ctl {

// The exit codes of all commands; docs/gearstalkctl.md has them as a table. 3, 4 and 5 differ
// between the commands that ask the API and those that move jobs: both are promised.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;  // refused, or could not; the output cannot be written
inline constexpr int kBadUsage = 2;

// Commands that ask the API.
inline constexpr int kNotReachable = 3;  // no server, or no answer
inline constexpr int kNotAllowed = 4;
inline constexpr int kNotFound = 5;
inline constexpr int kNotConfirmed = 6;  // by the user, or the number differs

// Commands that move jobs. After kFailed the same command continues.
inline constexpr int kDoneWithRest = 3;  // some jobs were left, refused, joined, altered, uncertain
inline constexpr int kDamaged = 4;       // the source is damaged; nothing was done
inline constexpr int kSourceInUse = 5;   // the source is in use, or not the one that the mark knows

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
