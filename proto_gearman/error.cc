#include "proto_gearman/error.h"

namespace gearstalk::gearman {
namespace {

// Clients know this code for a job that was not queued.
constexpr Error kQueueFull{"QUEUE_ERROR", "Job queue is full"};
constexpr Error kGroupFull{"QUEUE_ERROR", "Group of the job is full"};
constexpr Error kGroupMissing{"QUEUE_ERROR", "Job has no group"};
constexpr Error kDraining{"QUEUE_ERROR", "Server is draining and takes no new jobs"};
constexpr Error kOutOfMemory{"QUEUE_ERROR", "Server is out of memory"};
constexpr Error kTooManyFunctions{"QUEUE_ERROR", "Server has as many functions as allowed"};
constexpr Error kNotStored{"QUEUE_ERROR", "QUEUE_ERROR"};

}  // namespace

const Error& ErrorOf(Code code, const Error& not_found) {
  switch (code) {
    case Code::kNotFound:
      return not_found;
    case Code::kQueueFull:
      return kQueueFull;
    case Code::kGroupFull:
      return kGroupFull;
    case Code::kGroupMissing:
      return kGroupMissing;
    case Code::kDraining:
      return kDraining;
    case Code::kOutOfMemory:
      return kOutOfMemory;
    case Code::kTooManyTubes:
      return kTooManyFunctions;
    default:
      return kNotStored;
  }
}

}  // namespace gearstalk::gearman
