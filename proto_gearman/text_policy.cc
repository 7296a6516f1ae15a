#include "proto_gearman/text_policy.h"

#include <algorithm>
#include <optional>
#include <string>

#include "proto_gearman/printed_name.h"
#include "proto_gearman/session.h"

namespace gearstalk::gearman {
namespace {

constexpr std::string_view kTableEnd = ".\n";

// "ERR <code> <text>", with a plus for each blank of the text.
void SayError(Session& session, std::string_view code, std::string text) {
  std::replace(text.begin(), text.end(), ' ', '+');
  std::string line = "ERR ";
  line.append(code).append(" ").append(text).append("\r\n");
  session.out().Append(line);
}

void SayDone(Session& session, Lsn lsn) {
  session.out().HoldUntil(lsn);
  session.out().Append("OK\r\n");
}

void SayNotStored(Session& session) { SayError(session, "QUEUE_ERROR", "QUEUE_ERROR"); }

Code SayInvalid(Session& session, std::string text) {
  SayError(session, "INVALID_ARGUMENTS", std::move(text));
  return Code::kInvalid;
}

void ShowPolicy(Session& session, std::string_view tube) {
  std::string table;
  for (const PolicyRules::Line& line : session.engine().policies().Explain(tube)) {
    table.append(line.key).append("\t").append(line.value).append("\t");
    AppendName(table, line.source);
    table += '\n';
  }
  session.out().Append(table.append(kTableEnd));
}

// An empty key stands for all keys.
Code SetPolicy(Session& session, std::string_view tube, std::string_view key,
               std::optional<std::string_view> value) {
  const PolicySet set = session.engine().policies().Set(session.Now(), tube, key, value);
  switch (set.status.code()) {
    case Code::kOk:
      SayDone(session, set.lsn);
      break;
    case Code::kNotFound:
      SayError(session, "UNKNOWN_POLICY", std::string(key));
      break;
    case Code::kInvalid:
      return SayInvalid(session, set.status.message());
    default:
      SayNotStored(session);
  }
  return set.status.code();
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

}  // namespace

std::optional<Code> PolicyLine(Session& session, const TextLine& line) {
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

std::optional<Code> SchedulesLine(Session& session, const TextLine&) {
  std::string table;
  for (const auto& [name, schedule] : session.engine().schedules().all()) {
    AppendSchedule(table, *schedule);
  }
  session.out().Append(table.append(kTableEnd));
  return std::nullopt;
}

std::optional<Code> ScheduleLine(Session& session, const TextLine& line) {
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
  switch (outcome.code) {
    case Code::kOk:
      SayDone(session, outcome.lsn);
      break;
    case Code::kNotFound:
      SayError(session, "UNKNOWN_SCHEDULE", std::string(name));
      break;
    case Code::kInUse:
      SayError(session, "STILL_RUNNING", "The last run is not finished");
      break;
    default:
      SayNotStored(session);
  }
  return outcome.code;
}

}  // namespace gearstalk::gearman
