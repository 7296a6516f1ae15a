#pragma once

#include <cstdint>
#include <string_view>

#include "broker/base/status.h"
#include "broker/engine/job.h"
#include "broker/engine/outcome.h"
#include "broker/server/output.h"
#include "broker/server/protocol.h"

namespace gearstalk::beanstalk {

inline constexpr std::string_view kBadFormat = "BAD_FORMAT\r\n";
inline constexpr std::string_view kBuried = "BURIED\r\n";
inline constexpr std::string_view kDeadlineSoon = "DEADLINE_SOON\r\n";
inline constexpr std::string_view kDeleted = "DELETED\r\n";
inline constexpr std::string_view kExpectedCrlf = "EXPECTED_CRLF\r\n";
inline constexpr std::string_view kInternalError = "INTERNAL_ERROR\r\n";
inline constexpr std::string_view kJobTooBig = "JOB_TOO_BIG\r\n";
inline constexpr std::string_view kKicked = "KICKED\r\n";
inline constexpr std::string_view kNotFound = "NOT_FOUND\r\n";
inline constexpr std::string_view kPaused = "PAUSED\r\n";
inline constexpr std::string_view kReleased = "RELEASED\r\n";
inline constexpr std::string_view kTimedOut = "TIMED_OUT\r\n";
inline constexpr std::string_view kTouched = "TOUCHED\r\n";
inline constexpr std::string_view kUnknownCommand = "UNKNOWN_COMMAND\r\n";

// The reply to a verb that the engine refused with `code`.
std::string_view ErrorReply(Code code);

// What writes a whole reply returns kGoOn, so that a handler can end with it.

// `reply` if the engine agreed, held until the change is durable; else the word of its refusal.
Next WriteOutcome(Output& out, Outcome outcome, std::string_view reply);

// "<word> <number>" and CRLF.
Next WriteNumber(Output& out, std::string_view word, std::uint64_t number);
Next WriteName(Output& out, std::string_view word, std::string_view name);

// "<word> <id> <bytes>" CRLF body CRLF. Large bodies are sent uncopied.
Next WriteJob(Output& out, std::string_view word, const Job& job);

// "OK <bytes>" CRLF text CRLF.
Next WriteYaml(Output& out, std::string_view yaml);
Next WriteYaml(Output& out, Output yaml);

}  // namespace gearstalk::beanstalk
