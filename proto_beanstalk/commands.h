#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "broker/engine/outcome.h"
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

// One function for each verb, named as on the wire: takes the decoded arguments, calls the engine
// once and writes the reply.

// cmd_produce.cc
Next Put(Session& session, const Arguments& arguments);
// The answer to a put.
Next ReplyPut(Session& session, const Added& added);
Next Use(Session& session, const Arguments& arguments);

// cmd_consume.cc
// Reserves, or waits until `deadline`.
Next ReserveUntil(Session& session, Time deadline);
Next Reserve(Session& session, const Arguments& arguments);
Next ReserveWithTimeout(Session& session, const Arguments& arguments);
Next ReserveJob(Session& session, const Arguments& arguments);
Next Delete(Session& session, const Arguments& arguments);
Next Release(Session& session, const Arguments& arguments);
Next Bury(Session& session, const Arguments& arguments);
Next Touch(Session& session, const Arguments& arguments);
Next Watch(Session& session, const Arguments& arguments);
Next Ignore(Session& session, const Arguments& arguments);
Next Quit(Session& session, const Arguments& arguments);

// cmd_peek.cc
Next Peek(Session& session, const Arguments& arguments);
Next PeekReady(Session& session, const Arguments& arguments);
Next PeekDelayed(Session& session, const Arguments& arguments);
Next PeekBuried(Session& session, const Arguments& arguments);

// cmd_tube.cc
Next Kick(Session& session, const Arguments& arguments);
Next KickJob(Session& session, const Arguments& arguments);
Next PauseTube(Session& session, const Arguments& arguments);
Next ListTubes(Session& session, const Arguments& arguments);
Next ListTubeUsed(Session& session, const Arguments& arguments);
Next ListTubesWatched(Session& session, const Arguments& arguments);

// cmd_stats.cc
Next Stats(Session& session, const Arguments& arguments);
Next StatsJob(Session& session, const Arguments& arguments);
Next StatsTube(Session& session, const Arguments& arguments);

}  // namespace gearstalk::beanstalk
