#include "proto_beanstalk/commands.h"

#include <algorithm>

namespace gearstalk::beanstalk {
namespace {

constexpr std::uint8_t kTakeOrAdmin = right::kConsume | right::kAdmin;
constexpr std::uint8_t kSee = right::kObserve | right::kAdmin;

// Rows of one first letter stand together.
constexpr std::array<Command, kVerbs> kCommands{{
    {"bury ", Verb::kBury, Shape::kIdPriority, Bury, About::kJob, right::kConsume},
    {"delete ", Verb::kDelete, Shape::kId, Delete, About::kJob, kTakeOrAdmin},
    {"ignore ", Verb::kIgnore, Shape::kTube, Ignore, About::kWatched, right::kNone},
    {"kick ", Verb::kKick, Shape::kBound, Kick, About::kUsed, right::kAdmin, "tube.kick"},
    {"kick-job ", Verb::kKickJob, Shape::kId, KickJob, About::kJob, right::kAdmin, "job.kick"},
    {"list-tubes-watched", Verb::kListTubesWatched, Shape::kNone, ListTubesWatched, About::kWatched,
     right::kNone},
    {"list-tube-used", Verb::kListTubeUsed, Shape::kNone, ListTubeUsed},
    {"list-tubes", Verb::kListTubes, Shape::kNone, ListTubes, About::kSomeTube, right::kAny},
    {"put ", Verb::kPut, Shape::kPut, Put, About::kUsed, right::kProduce},
    {"peek ", Verb::kPeek, Shape::kId, Peek, About::kJob, kTakeOrAdmin},
    {"peek-ready", Verb::kPeekReady, Shape::kNone, PeekReady, About::kUsed, kTakeOrAdmin},
    {"peek-delayed", Verb::kPeekDelayed, Shape::kNone, PeekDelayed, About::kUsed, kTakeOrAdmin},
    {"peek-buried", Verb::kPeekBuried, Shape::kNone, PeekBuried, About::kUsed, kTakeOrAdmin},
    {"pause-tube", Verb::kPauseTube, Shape::kTubeDelay, PauseTube, About::kTube, right::kAdmin,
     "tube.pause"},
    {"quit", Verb::kQuit, Shape::kAnything, Quit},
    {"reserve-with-timeout ", Verb::kReserveWithTimeout, Shape::kTimeout, ReserveWithTimeout,
     About::kWatched, right::kConsume},
    {"reserve-job ", Verb::kReserveJob, Shape::kId, ReserveJob, About::kJob, right::kConsume},
    {"reserve", Verb::kReserve, Shape::kNone, Reserve, About::kWatched, right::kConsume},
    {"release ", Verb::kRelease, Shape::kIdPriorityDelay, Release, About::kJob, right::kConsume},
    {"stats-job ", Verb::kStatsJob, Shape::kId, StatsJob, About::kJob, right::kAny},
    {"stats-tube ", Verb::kStatsTube, Shape::kTube, StatsTube, About::kTube, kSee},
    {"stats", Verb::kStats, Shape::kNone, Stats, About::kBroker, kSee},
    {"touch ", Verb::kTouch, Shape::kId, Touch, About::kJob, right::kConsume},
    {"use ", Verb::kUse, Shape::kTube, Use, About::kTube, right::kAny},
    {"watch ", Verb::kWatch, Shape::kTube, Watch, About::kWatchedTube, right::kConsume},
}};

// Every command that needs the right `admin` and no other has an action.
static_assert(std::all_of(kCommands.begin(), kCommands.end(), [](const Command& row) {
  return row.action.empty() == (row.rights != right::kAdmin);
}));

// Where the rows of each first byte begin; kCommands.size() where there are none.
constexpr auto kFirstRow = [] {
  std::array<std::uint8_t, 256> first{};
  first.fill(kCommands.size());
  for (std::size_t row = kCommands.size(); row-- > 0;) {
    first[static_cast<unsigned char>(kCommands[row].word[0])] = static_cast<std::uint8_t>(row);
  }
  return first;
}();

constexpr auto kRowOf = [] {
  std::array<std::uint8_t, kVerbs> row_of{};
  for (std::size_t row = 0; row < kCommands.size(); ++row) {
    row_of[static_cast<std::size_t>(kCommands[row].verb)] = static_cast<std::uint8_t>(row);
  }
  return row_of;
}();

}  // namespace

std::span<const Command> Commands() { return kCommands; }

const Command* FindCommand(std::string_view text) {
  for (std::size_t row = kFirstRow[static_cast<unsigned char>(text[0])];
       row < kCommands.size() && kCommands[row].word[0] == text[0]; ++row) {
    if (text.starts_with(kCommands[row].word)) return &kCommands[row];
  }
  return nullptr;
}

bool MayBecomeCommand(std::string_view text) {
  return std::any_of(kCommands.begin(), kCommands.end(),
                     [&](const Command& row) { return row.word.starts_with(text); });
}

const Command& CommandOf(Verb verb) { return kCommands[kRowOf[static_cast<std::size_t>(verb)]]; }

}  // namespace gearstalk::beanstalk
