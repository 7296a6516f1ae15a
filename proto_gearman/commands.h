#pragma once

#include <cstdint>
#include <string_view>

#include "broker/base/status.h"
#include "broker/engine/job.h"
#include "broker/server/access.h"
#include "proto_gearman/packet.h"
#include "proto_gearman/protocol.h"

namespace gearstalk::gearman {

// Code and text of an ERROR packet.
struct Error {
  std::string_view code;
  std::string_view text;
};

inline constexpr Error kInvalidMagic{"INVALID_MAGIC", "Request magic expected"};
inline constexpr Error kInvalidCommand{"INVALID_COMMAND", "Command not expected"};
inline constexpr Error kNoSuchTime{"INVALID_ARGUMENTS", "No such time in the next 8 years"};
inline constexpr Error kNotAllowed{"NOT_ALLOWED", "This connection may not do that"};
inline constexpr Error kUnknownOption{"UNKNOWN_OPTION", "Server does not recognize given option"};
inline constexpr Error kUniqueTooLarge{"ARGUMENT_TOO_LARGE", "Unique value too large"};
inline constexpr Error kFunctionTooLarge{"ARGUMENT_TOO_LARGE", "Function name too large"};
inline constexpr Error kWorkloadTooLarge{"ARGUMENT_TOO_LARGE", "Workload too large"};
inline constexpr Error kDataTooLarge{"ARGUMENT_TOO_LARGE", "Data too large"};
inline constexpr Error kHandleTooLarge{
    "ARGUMENT_TOO_LARGE",
    "Error occurred due to GEARMAND_JOB_HANDLE_SIZE being too small from snprintf"};
// A report on a job that the worker does not hold, by the kind of report.
inline constexpr Error kNoJobForData{"JOB_NOT_FOUND", "Job does not exist on server"};
inline constexpr Error kNoJobForResult{"JOB_NOT_FOUND", "Job given in work result not found"};
inline constexpr Error kNoJobForException{
    "JOB_NOT_FOUND", "An exception was received for a job that does not exist"};

// The error for a refusal of the engine; `not_found` is that for kNotFound.
const Error& ErrorOf(Code code, const Error& not_found = kNoJobForResult);

class Payload;
class Session;

// Bounds what is not a workload but may be long: results, progress, echoes.
inline constexpr std::uint32_t kMaxData = 64 * 1024 * 1024;

// A whole packet. Views are valid during the call.
struct Request {
  PacketType type;
  Arguments arguments;
  std::string_view data;        // the bytes behind the arguments
  JobPtr job;                   // holds the data instead, if a submitted job arrived in pieces
  Payload* gathered = nullptr;  // owns `data`, if it arrived in pieces; may be moved from
};

// One row for each packet type.
struct Command {
  std::string_view name;  // as in the protocol's document
  Shape shape;
  bool workload = false;                                          // the data is the body of a job
  void (*handler)(Session& session, Request& request) = nullptr;  // none: refused
  std::uint8_t right = right::kNone;  // needed for the function it names, or those it can do
};

const Command& CommandOf(PacketType type);

// Why a packet is refused before its data arrives; nullptr: it is not. `data` in bytes.
const Error* Refusal(PacketType type, const Arguments& arguments, std::uint32_t data,
                     const Options& options);

// The handlers of the table of packets, one a row.

// cmd_client.cc: submitting jobs, asking for their status, options. The packet's type gives the
// priority.
void SubmitJob(Session& session, Request& request);
void SubmitJobBg(Session& session, Request& request);
void SubmitJobEpoch(Session& session, Request& request);
void SubmitJobSched(Session& session, Request& request);
void SubmitReduceJob(Session& session, Request& request);
void SubmitReduceJobBackground(Session& session, Request& request);
// The answer to a submit.
void ReplySubmitted(Session& session, const Added& added, std::string_view tube);

void GetStatus(Session& session, Request& request);
void GetStatusUnique(Session& session, Request& request);

void EchoReq(Session& session, Request& request);
void OptionReq(Session& session, Request& request);

// cmd_worker.cc: functions, grabbing jobs, reports on jobs.
void CanDo(Session& session, Request& request);
void CanDoTimeout(Session& session, Request& request);
void CantDo(Session& session, Request& request);
void ResetAbilities(Session& session, Request& request);
void AllYours(Session& session, Request& request);
void SetClientId(Session& session, Request& request);

void PreSleep(Session& session, Request& request);
void GrabJob(Session& session, Request& request);
void GrabJobUniq(Session& session, Request& request);
void GrabJobAll(Session& session, Request& request);
// JOB_ASSIGN, _UNIQ or _ALL with a body that is in memory. The job may be gone meanwhile.
void AppendAssign(Session& session, PacketType type, std::string_view function, Job& job);

void WorkStatus(Session& session, Request& request);
void WorkData(Session& session, Request& request);
void WorkWarning(Session& session, Request& request);
void WorkComplete(Session& session, Request& request);
void WorkFail(Session& session, Request& request);
void WorkException(Session& session, Request& request);

}  // namespace gearstalk::gearman
