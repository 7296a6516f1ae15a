#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "broker/server/access.h"
#include "broker/server/protocol.h"
#include "proto_beanstalk/parser.h"

namespace gearstalk::beanstalk {

class Session;

// Every verb, in the order of their counters in `stats`; those behind kPauseTube are not shown
// there.
enum class Verb : std::uint8_t {
  kPut,
  kPeek,
  kPeekReady,
  kPeekDelayed,
  kPeekBuried,
  kReserve,
  kReserveWithTimeout,
  kDelete,
  kRelease,
  kUse,
  kWatch,
  kIgnore,
  kBury,
  kKick,
  kTouch,
  kStats,
  kStatsJob,
  kStatsTube,
  kListTubes,
  kListTubeUsed,
  kListTubesWatched,
  kPauseTube,
  kReserveJob,
  kKickJob,
  kQuit,
};
inline constexpr std::size_t kVerbs = static_cast<std::size_t>(Verb::kQuit) + 1;
inline constexpr std::size_t kVerbsInStats = static_cast<std::size_t>(Verb::kPauseTube) + 1;

// The object of a command: where it needs one of its rights.
enum class About : std::uint8_t {
  kNothing,
  kBroker,       // the whole broker
  kSomeTube,     // any tube that the connection may see
  kTube,         // the tube it names
  kWatchedTube,  // the tube it names, and those watched before
  kUsed,         // the tube in use
  kWatched,      // the tubes it watches
  kJob,          // the tube of the job it names
};

// One row of the table of commands.
struct Command {
  using Handler = Next (*)(Session&, const Arguments&);

  std::string_view word;  // the beginning of the line
  Verb verb;              // the counter of it
  Shape shape;            // of the rest of the line
  Handler handler;
  About about = About::kNothing;
  std::uint8_t rights = right::kNone;  // one of them is needed
  std::string_view action = {};        // for the audit, of a command that only operators give

  // The verb as people call it.
  std::string_view name() const { return word.substr(0, word.find(' ')); }
};

// The table. A word stands before its own prefixes.
std::span<const Command> Commands();

// The row whose word `text` (not empty) begins with, or nullptr.
const Command* FindCommand(std::string_view text);
// Whether more bytes could make it begin with one.
bool MayBecomeCommand(std::string_view text);

const Command& CommandOf(Verb verb);

}  // namespace gearstalk::beanstalk
