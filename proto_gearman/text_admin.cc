#include "proto_gearman/text_admin.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "proto_gearman/admin_table.h"
#include "proto_gearman/numbers.h"
#include "proto_gearman/printed_name.h"
#include "proto_gearman/session.h"

namespace gearstalk::gearman {
namespace {

constexpr std::string_view kOk = "OK\r\n";
constexpr std::string_view kNotStored = "ERR QUEUE_ERROR QUEUE_ERROR\r\n";

void Say(GearmanSession& session, std::string_view text) { session.out().Append(text); }

void SayValue(GearmanSession& session, std::string_view value) {
  Say(session, "OK ");
  Say(session, value);
  Say(session, "\n");
}

void SayWith(GearmanSession& session, std::string_view text, std::string_view word) {
  Say(session, text);
  Say(session, word);
  Say(session, "\r\n");
}

void SayIncomplete(GearmanSession& session, const TextLine& line) {
  SayWith(session, "ERR INVALID_ARGUMENTS An+incomplete+set+of+arguments+was+sent+to+this+command+",
          line.words[0]);
}

void SayOutcome(GearmanSession& session, const Outcome& outcome, std::string_view not_found) {
  if (outcome.ok()) session.out().HoldUntil(outcome.lsn);
  Say(session, outcome.ok() ? kOk : outcome.code == Code::kNotFound ? not_found : kNotStored);
}

// --- One handler for each word -------------------------------------------------------------------

void BeginTable(GearmanSession& session, AdminTable::Kind kind) {
  session.Begin(std::make_unique<AdminTable>(kind, session.context(), session.peer()));
}

void Workers(GearmanSession& session, const TextLine&) {
  BeginTable(session, AdminTable::Kind::kWorkers);
}

void Status(GearmanSession& session, const TextLine&) {
  BeginTable(session, AdminTable::Kind::kStatus);
}

void PriorityStatus(GearmanSession& session, const TextLine&) {
  BeginTable(session, AdminTable::Kind::kPriorityStatus);
}

void Show(GearmanSession& session, const TextLine& line) {
  if (line.count == 2 && SameWord(line.words[1], "jobs")) {
    BeginTable(session, AdminTable::Kind::kJobs);
  } else if (line.count == 3 && SameWord(line.words[1], "unique") &&
             SameWord(line.words[2], "jobs")) {
    BeginTable(session, AdminTable::Kind::kUniqueJobs);
  } else {
    Say(session, "ERR UNKNOWN_SHOW_ARGUMENTS\r\n");
  }
}

void Cancel(GearmanSession& session, const TextLine& line) {
  if (line.count != 3 || !SameWord(line.words[1], "job")) {
    return Say(session, "ERR UNKNOWN_ERROR\r\n");
  }
  const JobId id = session.IdOf(line.words[2]);
  SayOutcome(session, session.engine().Cancel(session.Now(), id), "ERR UNKNOWN_JOB\r\n");
}

bool NamesFunction(const TextLine& line) {
  return line.count == 3 && SameWord(line.words[1], "function");
}

void Create(GearmanSession& session, const TextLine& line) {
  if (!NamesFunction(line)) return SayIncomplete(session, line);
  SayOutcome(session, session.engine().CreateFunction(line.words[2]), kNotStored);
}

void Drop(GearmanSession& session, const TextLine& line) {
  if (!NamesFunction(line)) return SayIncomplete(session, line);
  const Outcome outcome = session.engine().DropFunction(line.words[2]);
  if (outcome.code == Code::kInUse) {
    return Say(session, "ERR there are still connected workers or executing clients\r\n");
  }
  SayOutcome(session, outcome, "ERR function not found\r\n");
}

void MaxQueue(GearmanSession& session, const TextLine& line) {
  std::array<std::int64_t, 3> limits{};  // high, normal, low
  for (std::size_t i = 0; i < limits.size() && i + 2 < line.count; ++i) {
    limits[i] = static_cast<std::int64_t>(
        std::min<std::uint64_t>(LeadingNumber(line.words[i + 2]), INT64_MAX));
  }
  if (line.count == 3) limits.fill(limits[0]);
  SayOutcome(session, session.engine().SetMaxQueue(line.words[1], limits), kNotStored);
}

void Version(GearmanSession& session, const TextLine&) {
  SayValue(session, session.context().options.version);
}

void GetPid(GearmanSession& session, const TextLine&) {
  SayValue(session, Decimal(static_cast<std::uint64_t>(getpid())));
}

void Verbose(GearmanSession& session, const TextLine&) {
  SayValue(session, session.context().options.log_level());
}

void Shutdown(GearmanSession& session, const TextLine& line) {
  const bool graceful = line.count == 2 && SameWord(line.words[1], "graceful");
  if (line.count > 1 && !graceful) return Say(session, "ERR UNKNOWN_SHUTDOWN_ARGUMENTS\r\n");
  const Options& options = session.context().options;
  if (!options.shutdown || !options.may_shut_down(session.peer())) {
    session.NoteRefused();
    return Say(session, "ERR NOT_ALLOWED Shutdown+is+taken+from+this+host+only\r\n");
  }
  Say(session, kOk);
  options.shutdown(graceful, session.peer());
}

// --- The table -----------------------------------------------------------------------------------

// What a line is about: where one of its rights is needed.
enum class About : std::uint8_t { kNothing, kBroker, kSomeTube, kFunction, kJob };

struct AdminCommand {
  std::string_view word;
  std::size_t words;  // that a line has at least
  void (*too_few)(GearmanSession&, const TextLine&);
  void (*handler)(GearmanSession&, const TextLine&);
  About about = About::kNothing;
  std::uint8_t rights = right::kNone;
  std::size_t named = 0;  // which of its words names the function or the job
};

constexpr std::uint8_t kSee = right::kObserve | right::kAdmin;

constexpr std::array<AdminCommand, kAdminWords> kAdminCommands{{
    {"workers", 1, nullptr, Workers, About::kBroker, kSee},
    {"status", 1, nullptr, Status, About::kSomeTube, kSee},
    {"prioritystatus", 1, nullptr, PriorityStatus, About::kSomeTube, kSee},
    {"show", 2, AnswerUnknownLine, Show, About::kSomeTube, kSee},
    {"cancel", 3, AnswerUnknownLine, Cancel, About::kJob, right::kAdmin, 2},
    {"create", 3, SayIncomplete, Create, About::kFunction, right::kAdmin, 2},
    {"drop", 3, SayIncomplete, Drop, About::kFunction, right::kAdmin, 2},
    {"maxqueue", 2, SayIncomplete, MaxQueue, About::kFunction, right::kAdmin, 1},
    {"version", 1, nullptr, Version},
    {"getpid", 1, nullptr, GetPid, About::kBroker, kSee},
    {"verbose", 1, nullptr, Verbose, About::kBroker, right::kAdmin},
    {"shutdown", 1, nullptr, Shutdown, About::kBroker, right::kAdmin},
}};
constexpr std::size_t kLongestWord = 14;  // prioritystatus

bool Permitted(GearmanSession& session, const AdminCommand& command, const TextLine& line) {
  const Access& access = *session.peer().access;
  switch (command.about) {
    case About::kNothing:
      break;
    case About::kBroker:
      return access.AllowsAll(command.rights);
    case About::kSomeTube:
      return access.AllowsSome(command.rights);
    case About::kFunction:
      return access.Allows(command.rights, line.words[command.named]);
    case About::kJob: {
      const Job* const job = session.engine().Find(session.IdOf(line.words[command.named]));
      return job == nullptr || access.Allows(command.rights, job->tube().name());
    }
  }
  return true;
}

void SayNotAllowed(GearmanSession& session) {
  session.NoteRefused();
  Say(session, "ERR NOT_ALLOWED This+connection+may+not+do+that\r\n");
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

void RunAdminLine(GearmanSession& session, const TextLine& line) {
  for (std::size_t row = 0; row < kAdminWords; ++row) {
    const AdminCommand& command = kAdminCommands[row];
    if (!SameWord(line.words[0], command.word)) continue;
    if (line.count < command.words) return command.too_few(session, line);
    if (session.peer().access != nullptr && !Permitted(session, command, line)) {
      return SayNotAllowed(session);
    }
    ++session.context().counts.lines[row];
    return command.handler(session, line);
  }
  AnswerUnknownLine(session, line);
}

void AnswerUnknownLine(GearmanSession& session, const TextLine& line) {
  SayWith(session, "ERR UNKNOWN_COMMAND Unknown+server+command", line.words[0]);
}

}  // namespace gearstalk::gearman
