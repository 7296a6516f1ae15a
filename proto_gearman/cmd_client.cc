#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "broker/base/clock.h"
#include "broker/policy/cron.h"
#include "proto_gearman/commands.h"
#include "proto_gearman/numbers.h"
#include "proto_gearman/payload.h"
#include "proto_gearman/session.h"
#include "proto_gearman/text_line.h"

namespace gearstalk::gearman {
namespace {

// The unique key for "jobs with equal bodies are one job".
constexpr std::string_view kBodyIsKey = "-";

// nullptr: there is no memory for it.
JobPtr TakeJob(Request& request) {
  if (request.job != nullptr) return std::move(request.job);
  JobPtr job =
      Job::TryNew(static_cast<std::uint32_t>(request.data.size()), request.arguments.at[1]);
  if (job != nullptr && !request.data.empty()) {
    std::memcpy(job->space().data(), request.data.data(), request.data.size());
  }
  return job;
}

void Refuse(Session& session, Code code, std::string_view tube) {
  session.NoteJobRefused(code, tube);
  session.ReplyError(ErrorOf(code));
}

// `due`: not before.
void Submit(Session& session, Request& request, JobObserver* waiter, std::string_view reducer = {},
            Time due = 0) {
  const std::string_view tube = request.arguments.at[0];
  JobPtr job = TakeJob(request);
  if (job == nullptr) return Refuse(session, session.engine().RefuseBody(), tube);
  job->priority = session.context().options.priorities.Of(request.type);
  const bool unique_is_body = job->unique() == kBodyIsKey;
  session.Submit(std::move(job), {.tube = tube,
                                  .waiter = waiter,
                                  .due = due,
                                  .reducer = reducer,
                                  .unique_is_body = unique_is_body});
}

std::string_view Flag(bool set) { return set ? "1" : "0"; }

void ReplyStatusUnique(Session& session, std::string_view unique, const Job* job) {
  const JobRest none;
  const JobRest& rest = job == nullptr ? none : job->rest();
  const std::size_t clients = job == nullptr ? 0 : session.engine().CountWaiters(*job);
  session.Reply(PacketType::kStatusResUnique,
                {unique, Flag(job != nullptr), Flag(job != nullptr && job->holder() != nullptr),
                 Decimal(rest.numerator), Decimal(rest.denominator), Decimal(clients)});
}

// Looks for the key in all tubes.
Slices AnswerStatusUnique(Session& session, std::string unique) {
  std::uint64_t last = 0;  // id of the last tube searched
  const Job* job = session.engine().FindUnique(unique, last);
  while (job == nullptr && last != 0) {
    co_await NextSlice();
    job = session.engine().FindUnique(unique, last);
  }
  ReplyStatusUnique(session, unique, job);
}

}  // namespace

void ReplySubmitted(Session& session, const Added& added, std::string_view tube) {
  if (!added.ok()) return Refuse(session, added.code, tube);
  Output& out = session.out();
  out.HoldUntil(added.lsn);
  AppendPacket(out, PacketType::kJobCreated, {session.HandleOf(added.id)});
}

void SubmitJob(Session& session, Request& request) { Submit(session, request, &session); }

void SubmitJobBg(Session& session, Request& request) { Submit(session, request, nullptr); }

void SubmitJobEpoch(Session& session, Request& request) {
  Submit(session, request, nullptr, {}, ByEveryClock(EpochTime(request.arguments.at[2])));
}

void SubmitJobSched(Session& session, Request& request) {
  const auto& at = request.arguments.at;
  const Result<Cron> cron = Cron::ParseSched(
      {.minute = at[2], .hour = at[3], .day = at[4], .month = at[5], .weekday = at[6]});
  if (!cron.ok()) {
    const std::string why = "No such time: " + cron.status().message();
    return session.ReplyError({.code = kNoSuchTime.code, .text = why});
  }
  const Result<TimeZone> zone = FindTimeZone(session.context().options.time_zone);
  const Time wall = session.engine().WallTime(session.Now());
  const auto next = zone.ok() ? cron.value().Next(wall / kSecond, zone.value()) : std::nullopt;
  if (!next.has_value()) return session.ReplyError(kNoSuchTime);
  Submit(session, request, nullptr, {}, ByEveryClock(*next * kSecond));
}

void SubmitReduceJob(Session& session, Request& request) {
  Submit(session, request, &session, request.arguments.at[2]);
}

void SubmitReduceJobBackground(Session& session, Request& request) {
  Submit(session, request, nullptr, request.arguments.at[2]);
}

void GetStatus(Session& session, Request& request) {
  const std::string_view handle = UpToNul(request.arguments.at[0]);
  const Job* job = session.engine().Find(session.IdOf(handle));
  const JobRest none;
  const JobRest& rest = job == nullptr ? none : job->rest();
  session.Reply(PacketType::kStatusRes,
                {handle, Flag(job != nullptr), Flag(job != nullptr && job->holder() != nullptr),
                 Decimal(rest.numerator), Decimal(rest.denominator)});
}

void GetStatusUnique(Session& session, Request& request) {
  const std::string_view unique = UpToNul(request.arguments.at[0]);
  if (unique.empty() || unique.size() > Job::kMaxUnique) {
    return ReplyStatusUnique(session, unique, nullptr);
  }
  session.Begin(AnswerStatusUnique(session, std::string(unique)));
}

void EchoReq(Session& session, Request& request) {
  const bool copies = request.gathered == nullptr || request.data.size() < Output::kShareFrom;
  if (copies) return session.Reply(PacketType::kEchoRes, {request.data});
  AppendPacketBeforeData(session.out(), PacketType::kEchoRes, {}, request.data.size());
  session.out().AppendShared(request.data,
                             Pin(std::make_unique<Payload>(std::move(*request.gathered))));
}

void OptionReq(Session& session, Request& request) {
  const std::string_view option = request.arguments.at[0];
  if (!SameWord(UpToNul(option), "exceptions")) return session.ReplyError(kUnknownOption);
  session.WantExceptions();
  session.Reply(PacketType::kOptionRes, {option});
}

}  // namespace gearstalk::gearman
