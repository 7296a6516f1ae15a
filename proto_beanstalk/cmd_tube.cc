#include <algorithm>
#include <optional>
#include <string>

#include "proto_beanstalk/commands.h"
#include "proto_beanstalk/reply.h"
#include "proto_beanstalk/session.h"
#include "proto_beanstalk/yaml.h"

namespace gearstalk::beanstalk {
namespace {

// The audit entry of an act on a job; `tube` must outlive it.
OperatorAct ActOnJob(Session& session, std::string_view action, JobId id, std::string& tube) {
  const Job* const job = session.engine().Find(id);
  if (job != nullptr) tube = job->tube().name();
  return {.action = action, .tube = tube, .job = id};
}

void AnswerKick(Session& session, const Kicked& kicked) {
  session.out().HoldUntil(kicked.lsn);
  const bool refused = kicked.code != Code::kOk && kicked.count == 0;
  session.NoteAct({.action = CommandOf(Verb::kKick).action,
                   .tube = session.used()->name(),
                   .count = kicked.count,
                   .result = ResultOf(refused ? kicked.code : Code::kOk)});
  if (refused) {
    session.Reply(ErrorReply(kicked.code));
  } else {
    WriteNumber(session.out(), "KICKED", kicked.count);
  }
}

// Kicks no more jobs than there are now: jobs that are buried again meanwhile wait for the next
// kick.
Slices KickMany(Session& session, std::uint64_t bound) {
  const Tube& tube = *session.used();
  const std::uint64_t most = std::min(bound, tube.buried() > 0 ? tube.buried() : tube.delayed());
  std::optional<KickFrom> from;
  Kicked all;
  for (;;) {
    const std::uint64_t slice = std::min<std::uint64_t>(most - all.count, kSliceItems);
    const Kicked kicked = session.engine().Kick(session.now(), session, slice, from);
    all = {.count = all.count + kicked.count,
           .lsn = std::max(all.lsn, kicked.lsn),
           .code = kicked.code};
    if (kicked.count < slice || all.count == most) break;
    co_await NextSlice();
  }
  AnswerKick(session, all);
}

Slices ListAllTubes(Session& session) {
  Yaml list;  // of one slice
  Output rows;
  std::uint64_t last = 0;
  for (std::size_t seen = 1; const Tube* tube = session.engine().NextTube(last); ++seen) {
    last = tube->id();
    if (session.May(right::kAny, tube->name())) list.Item(tube->name());
    if (seen % kSliceItems != 0) continue;
    rows.Append(list.Take());
    co_await NextSlice();
  }
  rows.Append(list.Take());
  WriteYaml(session.out(), std::move(rows));
}

// The list cannot change meanwhile: only its own session's commands do that.
Slices ListWatched(Session& session) {
  Yaml list;  // of one slice
  Output rows;
  const auto& watched = session.watched();
  for (std::size_t at = 0; at < watched.size();) {
    list.Item(watched.begin()[static_cast<std::ptrdiff_t>(at)]->tube.name());
    if (++at % kSliceItems != 0) continue;
    rows.Append(list.Take());
    co_await NextSlice();
  }
  rows.Append(list.Take());
  WriteYaml(session.out(), std::move(rows));
}

}  // namespace

Next Kick(Session& session, const Arguments& arguments) {
  return session.Answer(KickMany(session, arguments.bound));
}

Next KickJob(Session& session, const Arguments& arguments) {
  std::string tube;
  OperatorAct act = ActOnJob(session, CommandOf(Verb::kKickJob).action, arguments.id, tube);
  const Outcome outcome = session.engine().KickJob(session.now(), arguments.id);
  act.result = ResultOf(outcome.code);
  session.NoteAct(act);
  return WriteOutcome(session.out(), outcome, kKicked);
}

Next PauseTube(Session& session, const Arguments& arguments) {
  if (!IsTubeName(arguments.tube)) return session.Reply(kBadFormat);
  const Outcome outcome = session.engine().Pause(session.now(), arguments.tube, arguments.delay_s);
  session.NoteAct(
      {.action = arguments.delay_s == 0 ? "tube.resume" : CommandOf(Verb::kPauseTube).action,
       .tube = arguments.tube,
       .result = ResultOf(outcome.code)});
  return WriteOutcome(session.out(), outcome, kPaused);
}

Next ListTubes(Session& session, const Arguments& /*arguments*/) {
  return session.Answer(ListAllTubes(session));
}

Next ListTubeUsed(Session& session, const Arguments& /*arguments*/) {
  return WriteName(session.out(), "USING", session.used()->name());
}

Next ListTubesWatched(Session& session, const Arguments& /*arguments*/) {
  return session.Answer(ListWatched(session));
}

}  // namespace gearstalk::beanstalk
