#pragma once

#include <string_view>

#include "broker/base/status.h"

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

}  // namespace gearstalk::gearman
