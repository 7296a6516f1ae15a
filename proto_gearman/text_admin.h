#pragma once

#include <cstddef>
#include <string_view>

#include "broker/server/protocol.h"
#include "proto_gearman/text_line.h"

// The admin lines of gearmand.
namespace gearstalk::gearman {

class Session;

// Whether a message that begins with `bytes` is an admin line, by its first word.
Claim ClaimOfWord(std::string_view bytes);

// The words that lines begin with, in the order of their table.
inline constexpr std::size_t kAdminWords = 16;
std::string_view AdminWord(std::size_t row);

// Runs a line. A table without a bound is only begun: the session continues it.
void RunAdminLine(Session& session, const TextLine& line);
void AnswerUnknownLine(Session& session, const TextLine& line);

}  // namespace gearstalk::gearman
