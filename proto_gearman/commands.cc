#include "proto_gearman/commands.h"

#include <array>

namespace gearstalk::gearman {
namespace {

constexpr Shape Plain(std::uint8_t arguments) { return {.arguments = arguments}; }
constexpr Shape WithData(std::uint8_t arguments) { return {.arguments = arguments, .data = true}; }
// Clients leave out what is empty.
constexpr Shape Lenient(Shape shape) {
  shape.lenient = true;
  return shape;
}

constexpr bool kWorkload = true;
constexpr std::uint8_t kReducer = 2;  // its place among the arguments

// Rows without a handler are sent by servers only, or not implemented by gearmand either.
constexpr std::array<Command, kPacketTypes> kCommands{{
    {"", {}},
    {"CAN_DO", Plain(1), false, CanDo, right::kConsume},
    {"CANT_DO", Plain(1), false, CantDo},
    {"RESET_ABILITIES", {}, false, ResetAbilities},
    {"PRE_SLEEP", {}, false, PreSleep, right::kConsume},
    {"", {}},
    {"NOOP", {}},
    {"SUBMIT_JOB", WithData(2), kWorkload, SubmitJob, right::kProduce},
    {"JOB_CREATED", {}},
    {"GRAB_JOB", {}, false, GrabJob, right::kConsume},
    {"NO_JOB", {}},
    {"JOB_ASSIGN", {}},
    {"WORK_STATUS", Lenient(Plain(3)), false, WorkStatus},
    {"WORK_COMPLETE", Lenient(WithData(1)), false, WorkComplete},
    {"WORK_FAIL", Plain(1), false, WorkFail},
    {"GET_STATUS", Plain(1), false, GetStatus},
    {"ECHO_REQ", WithData(0), false, EchoReq},
    {"ECHO_RES", {}},
    {"SUBMIT_JOB_BG", WithData(2), kWorkload, SubmitJobBg, right::kProduce},
    {"ERROR", {}},
    {"STATUS_RES", {}},
    {"SUBMIT_JOB_HIGH", WithData(2), kWorkload, SubmitJob, right::kProduce},
    {"SET_CLIENT_ID", Plain(1), false, SetClientId},
    {"CAN_DO_TIMEOUT", Lenient(Plain(2)), false, CanDoTimeout, right::kConsume},
    {"ALL_YOURS", {}, false, AllYours},
    {"WORK_EXCEPTION", Lenient(WithData(1)), false, WorkException},
    {"OPTION_REQ", Plain(1), false, OptionReq},
    {"OPTION_RES", {}},
    {"WORK_DATA", Lenient(WithData(1)), false, WorkData},
    {"WORK_WARNING", Lenient(WithData(1)), false, WorkWarning},
    {"GRAB_JOB_UNIQ", {}, false, GrabJobUniq, right::kConsume},
    {"JOB_ASSIGN_UNIQ", {}},
    {"SUBMIT_JOB_HIGH_BG", WithData(2), kWorkload, SubmitJobBg, right::kProduce},
    {"SUBMIT_JOB_LOW", WithData(2), kWorkload, SubmitJob, right::kProduce},
    {"SUBMIT_JOB_LOW_BG", WithData(2), kWorkload, SubmitJobBg, right::kProduce},
    {"SUBMIT_JOB_SCHED", WithData(7), kWorkload, SubmitJobSched, right::kProduce},
    {"SUBMIT_JOB_EPOCH", WithData(3), kWorkload, SubmitJobEpoch, right::kProduce},
    {"SUBMIT_REDUCE_JOB", WithData(4), kWorkload, SubmitReduceJob, right::kProduce},
    {"SUBMIT_REDUCE_JOB_BACKGROUND", WithData(4), kWorkload, SubmitReduceJobBackground,
     right::kProduce},
    {"GRAB_JOB_ALL", {}, false, GrabJobAll, right::kConsume},
    {"JOB_ASSIGN_ALL", {}},
    {"GET_STATUS_UNIQUE", Plain(1), false, GetStatusUnique},
    {"STATUS_RES_UNIQUE", {}},
}};

constexpr std::size_t kMaxFunctionName = 512;  // bytes

bool IsReduce(PacketType type) {
  return type == PacketType::kSubmitReduceJob || type == PacketType::kSubmitReduceJobBackground;
}

// Clients know this code for a job that was not queued.
constexpr Error kQueueFull{"QUEUE_ERROR", "Job queue is full"};
constexpr Error kGroupFull{"QUEUE_ERROR", "Group of the job is full"};
constexpr Error kGroupMissing{"QUEUE_ERROR", "Job has no group"};
constexpr Error kDraining{"QUEUE_ERROR", "Server is draining and takes no new jobs"};
constexpr Error kOutOfMemory{"QUEUE_ERROR", "Server is out of memory"};
constexpr Error kTooManyFunctions{"QUEUE_ERROR", "Server has as many functions as allowed"};
constexpr Error kNotStored{"QUEUE_ERROR", "QUEUE_ERROR"};

}  // namespace

const Command& CommandOf(PacketType type) { return kCommands[static_cast<std::uint32_t>(type)]; }

const Error* Refusal(PacketType type, const Arguments& arguments, std::uint32_t data,
                     const Options& options) {
  const Command& command = CommandOf(type);
  const bool named = (command.right & (right::kProduce | right::kConsume)) != 0;
  if (arguments.at[0].size() > kMaxFunctionName && named) return &kFunctionTooLarge;
  if (!command.workload) return command.shape.data && data > kMaxData ? &kDataTooLarge : nullptr;
  if (arguments.at[1].size() > Job::kMaxUnique) return &kUniqueTooLarge;
  if (IsReduce(type) && arguments.at[kReducer].size() > Job::kMaxUnique) return &kUniqueTooLarge;
  return data > options.max_workload ? &kWorkloadTooLarge : nullptr;
}

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
