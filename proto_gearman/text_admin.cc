#include "proto_gearman/text_admin.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "broker/base/status.h"
#include "proto_gearman/admin_table.h"
#include "proto_gearman/numbers.h"
#include "proto_gearman/session.h"

namespace gearstalk::gearman {
namespace {

constexpr std::string_view kTableEnd = ".\n";
constexpr std::string_view kOk = "OK\r\n";
constexpr std::string_view kShutdown = "server.shutdown";
constexpr std::string_view kForbidden = "forbidden";

// The result of an act; nullopt: the line is not an act.
using Ended = std::optional<Code>;

// The parts, one behind the other.
template <typename... Parts>
void Say(Session& session, const Parts&... parts) {
  (session.out().Append(std::string_view(parts)), ...);
}

// "ERR <code> <text>", with a plus for each blank of the text.
std::string ErrorLine(std::string_view code, std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), ' ', '+');
  return fmt::format("ERR {} {}\r\n", code, line);
}

// Says the error and returns its code, so that a handler can end with it.
Code SayError(Session& session, Code code, std::string_view line) {
  Say(session, line);
  return code;
}

Code SayInvalid(Session& session, std::string_view text) {
  return SayError(session, Code::kInvalid, ErrorLine("INVALID_ARGUMENTS", text));
}

Code SayOutcome(Session& session, const Outcome& outcome, std::string_view not_found = {}) {
  if (outcome.ok()) {
    session.out().HoldUntil(outcome.lsn);
    Say(session, kOk);
  } else if (outcome.code == Code::kNotFound && !not_found.empty()) {
    Say(session, not_found);
  } else {
    const Error& error = ErrorOf(outcome.code);
    Say(session, ErrorLine(error.code, error.text));
  }
  return outcome.code;
}

void ShowPolicy(Session& session, std::string_view tube) {
  std::string table;
  for (const PolicyRules::Line& line : session.engine().policies().Explain(tube)) {
    table.append(line.key).append("\t").append(line.value).append("\t");
    AppendName(table, line.source);
    table += '\n';
  }
  Say(session, table.append(kTableEnd));
}

// An empty key stands for all keys.
Code SetPolicy(Session& session, std::string_view tube, std::string_view key,
               std::optional<std::string_view> value) {
  const PolicySet set = session.engine().SetPolicy(session.Now(), tube, key, value);
  const Code code = set.status.code();
  if (code == Code::kInvalid) return SayInvalid(session, set.status.message());
  return SayOutcome(session, {code, set.lsn}, ErrorLine("UNKNOWN_POLICY", key));
}

std::uint64_t SecondsOf(Time time) {
  return time <= 0 || time == kNever ? 0 : static_cast<std::uint64_t>(time / kSecond);
}

void AppendSchedule(std::string& table, const RunningSchedule& schedule) {
  table.append(schedule.entry.name).append("\t");
  AppendName(table, schedule.entry.tube);
  const Time next = schedule.off ? 0 : schedule.next;
  for (const std::uint64_t number : {SecondsOf(next), SecondsOf(schedule.ran), schedule.runs,
                                     schedule.skipped, schedule.missed}) {
    table.append("\t").append(std::to_string(number));
  }
  table.append(schedule.off ? "\toff\n" : "\ton\n");
}

void SayIncomplete(Session& session, const TextLine& line) {
  Say(session, "ERR INVALID_ARGUMENTS An+incomplete+set+of+arguments+was+sent+to+this+command+",
      line.words[0], "\r\n");
}

// --- One handler for each word: those that change something return how that ended ----------------

Ended Begin(Session& session, Slices table) {
  session.Begin(std::move(table));
  return std::nullopt;
}

Ended PolicyLine(Session& session, const TextLine& line) {
  const std::string_view tube = line.words[1];
  if (line.count == 2) {
    ShowPolicy(session, tube);
    return std::nullopt;
  }
  const bool reset = SameWord(line.words[line.count - 1], "default");
  if (line.count == 3 && reset) return SetPolicy(session, tube, {}, std::nullopt);
  if (line.count != 4) {
    return SayInvalid(session, "Expected: policy TUBE [KEY VALUE|KEY default|default]");
  }
  const auto value = reset ? std::nullopt : std::optional(line.words[3]);
  return SetPolicy(session, tube, line.words[2], value);
}

Ended SchedulesLine(Session& session, const TextLine&) {
  std::string table;
  for (const auto& [name, schedule] : session.engine().schedules().all()) {
    AppendSchedule(table, *schedule);
  }
  Say(session, table.append(kTableEnd));
  return std::nullopt;
}

Ended ScheduleLine(Session& session, const TextLine& line) {
  const std::string_view name = line.words[1], act = line.words[2];
  Engine& engine = session.engine();
  Outcome outcome;
  if (line.count == 3 && SameWord(act, "run")) {
    outcome = engine.schedules().Run(session.Now(), name);
  } else if (line.count == 3 && (SameWord(act, "on") || SameWord(act, "off"))) {
    outcome = engine.schedules().Switch(session.Now(), name, SameWord(act, "on"));
  } else {
    return SayInvalid(session, "Expected: schedule NAME run|on|off");
  }
  if (outcome.code == Code::kInUse) {
    return SayError(session, outcome.code,
                    ErrorLine("STILL_RUNNING", "The last run is not finished"));
  }
  return SayOutcome(session, outcome, ErrorLine("UNKNOWN_SCHEDULE", name));
}

template <Slices (*kTable)(Session&)>
Ended List(Session& session, const TextLine&) {
  return Begin(session, kTable(session));
}

Ended Show(Session& session, const TextLine& line) {
  if (line.count == 2 && SameWord(line.words[1], "jobs")) return Begin(session, ListJobs(session));
  if (line.count == 3 && SameWord(line.words[1], "unique") && SameWord(line.words[2], "jobs")) {
    return Begin(session, ListUniqueKeys(session));
  }
  Say(session, "ERR UNKNOWN_SHOW_ARGUMENTS\r\n");
  return std::nullopt;
}

Ended Cancel(Session& session, const TextLine& line) {
  if (line.count != 3 || !SameWord(line.words[1], "job")) {
    return SayError(session, Code::kInvalid, "ERR UNKNOWN_ERROR\r\n");
  }
  const JobId id = session.IdOf(line.words[2]);
  return SayOutcome(session, session.engine().Cancel(session.Now(), id), "ERR UNKNOWN_JOB\r\n");
}

bool NamesFunction(const TextLine& line) {
  return line.count == 3 && SameWord(line.words[1], "function");
}

Code SayNamesNone(Session& session, const TextLine& line) {
  SayIncomplete(session, line);
  return Code::kInvalid;
}

Ended Create(Session& session, const TextLine& line) {
  if (!NamesFunction(line)) return SayNamesNone(session, line);
  return SayOutcome(session, session.engine().CreateFunction(line.words[2]));
}

Ended Drop(Session& session, const TextLine& line) {
  if (!NamesFunction(line)) return SayNamesNone(session, line);
  const Outcome outcome = session.engine().DropFunction(line.words[2]);
  if (outcome.code == Code::kInUse) {
    return SayError(session, outcome.code,
                    "ERR there are still connected workers or executing clients\r\n");
  }
  return SayOutcome(session, outcome, "ERR function not found\r\n");
}

Ended MaxQueue(Session& session, const TextLine& line) {
  std::array<std::int64_t, 3> limits{};  // high, normal, low
  for (std::size_t i = 0; i < limits.size() && i + 2 < line.count; ++i) {
    limits[i] = static_cast<std::int64_t>(
        std::min<std::uint64_t>(LeadingNumber(line.words[i + 2]), INT64_MAX));
  }
  if (line.count == 3) limits.fill(limits[0]);
  return SayOutcome(session, session.engine().SetMaxQueue(line.words[1], limits));
}

Ended GroupsLine(Session& session, const TextLine& line) {
  constexpr std::size_t kRows = 100;
  const Tube* const tube = session.engine().FindTube(line.words[1]);
  if (tube == nullptr) {
    Say(session, ErrorLine("UNKNOWN_TUBE", line.words[1]));
    return std::nullopt;
  }
  const bool counted = line.count > 2;
  const std::uint64_t most = counted ? LeadingNumber(line.words[2]) : kRows;
  if (line.count > 3 || (counted && most == 0)) {
    SayInvalid(session, "Expected: groups TUBE [N]");
    return std::nullopt;
  }
  return Begin(session, ListGroups(session, tube->id(), most));
}

Ended Version(Session& session, const TextLine&) {
  Say(session, "OK ", session.context().options.version, "\n");
  return std::nullopt;
}

Ended GetPid(Session& session, const TextLine&) {
  Say(session, "OK ", std::to_string(getpid()), "\n");
  return std::nullopt;
}

Ended Verbose(Session& session, const TextLine&) {
  Say(session, "OK ", session.context().options.log_level(), "\n");
  return std::nullopt;
}

Ended Shutdown(Session& session, const TextLine& line) {
  const bool graceful = line.count == 2 && SameWord(line.words[1], "graceful");
  if (line.count > 1 && !graceful) {
    return SayError(session, Code::kInvalid, "ERR UNKNOWN_SHUTDOWN_ARGUMENTS\r\n");
  }
  const Options& options = session.context().options;
  if (!options.shutdown || !options.may_shut_down(session.peer())) {
    session.NoteRefused("shutdown", {});
    session.NoteAct({.action = kShutdown, .result = kForbidden});
    Say(session, "ERR NOT_ALLOWED Shutdown+is+taken+from+this+host+only\r\n");
    return std::nullopt;
  }
  Say(session, kOk);
  options.shutdown(graceful, session.peer());
  return Code::kOk;
}

// --- The table -----------------------------------------------------------------------------------

// What a line is about, which decides where a right is needed.
enum class About : std::uint8_t { kNothing, kBroker, kSomeTube, kFunction, kJob, kSchedule };

struct AdminCommand {
  std::string_view word;
  std::size_t words;  // that a line has at least
  void (*too_few)(Session&, const TextLine&);
  Ended (*handler)(Session&, const TextLine&);
  About about = About::kNothing;
  std::uint8_t rights = right::kNone;
  std::size_t named = 0;  // which of its words names the function or the job
  // A line with more words than these changes something and needs the right `admin`.
  std::size_t asks = SIZE_MAX;
  // For the audit entry of a line that changes something: what it does, what else it is about, and
  // which of its words names that.
  std::string_view action = {};
  std::string_view subject = {};
  std::size_t subject_named = 0;
};

constexpr std::uint8_t kSee = right::kObserve | right::kAdmin;

constexpr std::array<AdminCommand, kAdminWords> kAdminCommands{{
    {"workers", 1, nullptr, List<ListConnections>, About::kBroker, kSee},
    {"status", 1, nullptr, List<ListStatus>, About::kSomeTube, kSee},
    {"prioritystatus", 1, nullptr, List<ListPriorityStatus>, About::kSomeTube, kSee},
    {"show", 2, AnswerUnknownLine, Show, About::kSomeTube, kSee},
    {"cancel", 3, AnswerUnknownLine, Cancel, About::kJob, right::kAdmin, 2, SIZE_MAX, "job.delete"},
    {"create", 3, SayIncomplete, Create, About::kFunction, right::kAdmin, 2, SIZE_MAX,
     "tube.create"},
    {"drop", 3, SayIncomplete, Drop, About::kFunction, right::kAdmin, 2, SIZE_MAX, "tube.drop"},
    {"maxqueue", 2, SayIncomplete, MaxQueue, About::kFunction, right::kAdmin, 1, SIZE_MAX,
     "tube.maxqueue"},
    {"policy", 2, SayIncomplete, PolicyLine, About::kFunction, kSee, 1, 2, "tube.policy", "policy",
     2},
    {"groups", 2, SayIncomplete, GroupsLine, About::kFunction, kSee, 1},
    {"schedules", 1, nullptr, SchedulesLine, About::kBroker, kSee},
    {"schedule", 3, SayIncomplete, ScheduleLine, About::kSchedule, right::kAdmin, 0, SIZE_MAX,
     "schedule.enabled", "schedule", 1},
    {"version", 1, nullptr, Version},
    {"getpid", 1, nullptr, GetPid, About::kBroker, kSee},
    {"verbose", 1, nullptr, Verbose, About::kBroker, right::kAdmin},
    {"shutdown", 1, nullptr, Shutdown, About::kBroker, right::kAdmin, 0, SIZE_MAX, kShutdown},
}};
static_assert(!kAdminCommands.back().word.empty(), "kAdminWords is the number of rows");
constexpr std::size_t kLongestWord = [] {
  std::size_t longest = 0;
  for (const AdminCommand& row : kAdminCommands) longest = std::max(longest, row.word.size());
  return longest;
}();

bool Permitted(Session& session, const AdminCommand& command, const TextLine& line) {
  const Access& access = *session.peer().access;
  const std::uint8_t rights = line.count > command.asks ? right::kAdmin : command.rights;
  switch (command.about) {
    case About::kNothing:
      break;
    case About::kBroker:
    case About::kSchedule:
      return access.AllowsAll(rights);
    case About::kSomeTube:
      return access.AllowsSome(rights);
    case About::kFunction:
      return access.Allows(rights, line.words[command.named]);
    case About::kJob: {
      const Job* const job = session.engine().Find(session.IdOf(line.words[command.named]));
      return job == nullptr || access.Allows(rights, job->tube().name());
    }
  }
  return true;
}

// The words behind the first one; views into one line.
std::string_view Rest(const TextLine& line) {
  if (line.count < 2) return {};
  const std::string_view last = line.words[line.count - 1];
  return {line.words[1].data(), last.data() + last.size()};
}

bool Changes(const AdminCommand& command, const TextLine& line) {
  return !command.action.empty() && (command.rights == right::kAdmin || line.count > command.asks);
}

// The audit entry of a line that is about to run. Has views into the line and into `tube`.
OperatorAct ActOf(Session& session, const AdminCommand& command, const TextLine& line,
                  std::string& tube) {
  OperatorAct act{.action = command.action};
  // Without a word behind the name, the line changes nothing.
  if (!command.subject.empty() && line.count > command.subject_named + 1) {
    act.subject = command.subject;
    act.name = line.words[command.subject_named];
  }
  if (command.about == About::kFunction) act.tube = line.words[command.named];
  if (command.about == About::kSchedule) {
    if (SameWord(line.words[2], "run")) act.action = "schedule.run";
    const RunningSchedule* const schedule = session.engine().schedules().Find(act.name);
    if (schedule != nullptr) act.tube = tube = schedule->entry.tube;
  }
  if (command.about != About::kJob) return act;
  act.job = session.IdOf(line.words[command.named]);
  if (const Job* const job = session.engine().Find(act.job)) act.tube = tube = job->tube().name();
  return act;
}

void SayNotAllowed(Session& session, const AdminCommand& command, const TextLine& line) {
  if (Changes(command, line)) {
    std::string tube;
    OperatorAct act = ActOf(session, command, line, tube);
    act.result = kForbidden;
    session.NoteAct(act);
  }
  session.NoteRefused(command.word, Rest(line));
  Say(session, "ERR NOT_ALLOWED This+connection+may+not+do+that\r\n");
}

void Run(Session& session, const AdminCommand& command, const TextLine& line) {
  if (!Changes(command, line)) {
    command.handler(session, line);
    return;
  }
  std::string tube;
  OperatorAct act = ActOf(session, command, line, tube);
  if (const Ended ended = command.handler(session, line)) {
    act.result = ResultOf(*ended);
    session.NoteAct(act);
  }
}

}  // namespace

Claim ClaimOfWord(std::string_view bytes) {
  bytes = bytes.substr(0, kLongestWord + 1);
  const std::size_t end = bytes.find_first_of(" \r\n");
  const std::string_view word = bytes.substr(0, end);
  for (const AdminCommand& command : kAdminCommands) {
    if (end != std::string_view::npos) {
      if (SameWord(word, command.word)) return Claim::kOneMessage;
    } else if (SameWord(word, command.word.substr(0, word.size()))) {
      return Claim::kMaybe;
    }
  }
  return Claim::kNo;
}

std::string_view AdminWord(std::size_t row) { return kAdminCommands[row].word; }

void RunAdminLine(Session& session, const TextLine& line) {
  for (std::size_t row = 0; row < kAdminWords; ++row) {
    const AdminCommand& command = kAdminCommands[row];
    if (!SameWord(line.words[0], command.word)) continue;
    if (line.count < command.words) return command.too_few(session, line);
    if (session.peer().access != nullptr && !Permitted(session, command, line)) {
      return SayNotAllowed(session, command, line);
    }
    ++session.context().counts.lines[row];
    session.NoteCommand(command.word, Rest(line));
    return Run(session, command, line);
  }
  AnswerUnknownLine(session, line);
}

void AnswerUnknownLine(Session& session, const TextLine& line) {
  Say(session, "ERR UNKNOWN_COMMAND Unknown+server+command", line.words[0], "\r\n");
}

}  // namespace gearstalk::gearman
