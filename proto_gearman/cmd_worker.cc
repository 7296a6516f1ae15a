#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "proto_gearman/commands.h"
#include "proto_gearman/numbers.h"
#include "proto_gearman/payload.h"
#include "proto_gearman/session.h"

namespace gearstalk::gearman {
namespace {

// A name with a NUL names no tube: nothing can be submitted to it in either protocol. gearmand
// takes it as one more function; a worker of it never gets a job there either.
bool NamesTube(std::string_view function) { return function.find('\0') == std::string_view::npos; }

void Watch(Session& session, std::string_view function, Time run_limit) {
  if (!NamesTube(function)) return;
  const Code code = session.engine().Watch(session.Now(), session, function, true, run_limit);
  if (code != Code::kOk) session.ReplyError(ErrorOf(code));
}

void AppendBody(Output& out, Job& job) {
  const std::string_view body = job.body();
  if (body.size() < Output::kShareFrom) return out.Append(body);
  out.AppendShared(body, Pin(Job::Ref(job)));
}

void Assign(Session& session, const Request& request, PacketType type, Job& job) {
  if (job.has_body()) return AppendAssign(session, type, job.tube().name(), job);
  session.AwaitBody(job, request.type, type);
}

Job* Grab(Session& session) {
  const Taken taken = session.engine().Grab(session.Now(), session);
  session.ForgetException();
  if (taken.job == nullptr) {
    session.Reply(PacketType::kNoJob, {});
  } else {
    session.out().HoldUntil(taken.lsn);
  }
  return taken.job;
}

// The buffer in which a long packet was gathered goes to the waiting clients without a copy.
ReportData DataOf(Request& request) {
  if (request.gathered == nullptr || request.data.size() < Output::kShareFrom) return request.data;
  return {request.data, std::make_shared<const Payload>(std::move(*request.gathered))};
}

void AnswerReport(Session& session, const Outcome& outcome, const Error& not_found) {
  if (!outcome.ok()) return session.ReplyError(ErrorOf(outcome.code, not_found));
  // A report has no reply, so the next packet to the worker waits until the change is durable.
  session.out().HoldUntil(outcome.lsn);
}

void Report(Session& session, const Request& request, const Progress& progress,
            const Error& not_found) {
  const JobId id = session.IdOf(request.arguments.at[0]);
  AnswerReport(session, session.engine().WorkProgress(session.Now(), session, id, progress),
               not_found);
}

// A worker's jobs may be many.
Slices GiveUp(Session& session, std::string function) {
  while (!session.engine().CantDo(session.Now(), session, function)) co_await NextSlice();
}

Slices GiveUpAll(Session& session) {
  while (!session.engine().ResetAbilities(session.Now(), session)) co_await NextSlice();
}

std::uint32_t Bounded(std::string_view number) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(LeadingNumber(number), UINT32_MAX));
}

}  // namespace

void AppendAssign(Session& session, PacketType type, std::string_view function, Job& job) {
  Output& out = session.out();
  const HandleText handle = session.HandleOf(job.id());
  const std::size_t size = job.body_size();
  if (type == PacketType::kJobAssign) {
    AppendPacketBeforeData(out, type, {handle, function}, size);
  } else if (type == PacketType::kJobAssignUniq) {
    AppendPacketBeforeData(out, type, {handle, function, job.unique()}, size);
  } else {
    AppendPacketBeforeData(out, type, {handle, function, job.unique(), job.rest().reducer}, size);
  }
  AppendBody(out, job);
}

void CanDo(Session& session, Request& request) { Watch(session, request.arguments.at[0], 0); }

void CanDoTimeout(Session& session, Request& request) {
  Watch(session, request.arguments.at[0], RunLimit(request.arguments.at[1]));
}

void CantDo(Session& session, Request& request) {
  session.Begin(GiveUp(session, std::string(request.arguments.at[0])));
}

void ResetAbilities(Session& session, Request& /*request*/) { session.Begin(GiveUpAll(session)); }

// The protocol's document says that nothing is answered, and no server does anything with it.
void AllYours(Session& /*session*/, Request& /*request*/) {}

void SetClientId(Session& session, Request& request) {
  session.SetClientId(request.arguments.at[0]);
}

void PreSleep(Session& session, Request& /*request*/) {
  session.engine().Sleep(session.Now(), session);
}

void GrabJob(Session& session, Request& request) {
  if (Job* job = Grab(session)) Assign(session, request, PacketType::kJobAssign, *job);
}

void GrabJobUniq(Session& session, Request& request) {
  if (Job* job = Grab(session)) Assign(session, request, PacketType::kJobAssignUniq, *job);
}

void GrabJobAll(Session& session, Request& request) {
  Job* job = Grab(session);
  if (job == nullptr) return;
  const bool reduces = !job->rest().reducer.empty();
  Assign(session, request, reduces ? PacketType::kJobAssignAll : PacketType::kJobAssignUniq, *job);
}

// Passes on the worker's text unchanged; numbers that it left out become 0.
void WorkStatus(Session& session, Request& request) {
  const std::string_view numerator = request.arguments.at[1];
  const std::string_view denominator = request.arguments.at[2];
  Progress progress{.kind = Progress::Kind::kStatus,
                    .data = {},
                    .numerator = Bounded(numerator),
                    .denominator = Bounded(denominator)};
  std::string filled;
  if (!numerator.empty() && !denominator.empty()) {
    progress.data = std::string_view(numerator.data(), numerator.size() + 1 + denominator.size());
  } else {
    filled.append(numerator.empty() ? "0" : numerator).append(1, '\0');
    progress.data = filled.append(denominator.empty() ? "0" : denominator);
  }
  Report(session, request, progress, kNoJobForResult);
}

void WorkData(Session& session, Request& request) {
  Report(session, request, {.kind = Progress::Kind::kData, .data = DataOf(request)}, kNoJobForData);
}

void WorkWarning(Session& session, Request& request) {
  Report(session, request, {.kind = Progress::Kind::kWarning, .data = DataOf(request)},
         kNoJobForData);
}

void WorkComplete(Session& session, Request& request) {
  const JobId id = session.IdOf(request.arguments.at[0]);
  AnswerReport(session, session.engine().WorkComplete(session.Now(), session, id, DataOf(request)),
               kNoJobForResult);
}

void WorkFail(Session& session, Request& request) {
  const std::string_view handle = UpToNul(request.arguments.at[0]);
  if (handle.size() > HandleText::kMaxSize) return session.ReplyError(kHandleTooLarge);
  const JobId id = session.IdOf(handle);
  if (session.FailFollowsException(id)) return;
  AnswerReport(session, session.engine().WorkFail(session.Now(), session, id), kNoJobForResult);
}

void WorkException(Session& session, Request& request) {
  const JobId id = session.IdOf(request.arguments.at[0]);
  const Outcome outcome =
      session.engine().WorkException(session.Now(), session, id, DataOf(request));
  AnswerReport(session, outcome, kNoJobForException);
  if (outcome.ok()) session.RememberException(id);
}

}  // namespace gearstalk::gearman
