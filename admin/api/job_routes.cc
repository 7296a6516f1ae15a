#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "admin/api/answers.h"
#include "admin/api/objects.h"
#include "admin/api/routes.h"

namespace gearstalk::api {
namespace {

Problem WrongState(const Job& job, std::string_view needed) {
  return {.code = "job-state",
          .detail = fmt::format("the job is {}: it must be {}", NameOf(job.state()), needed),
          .more = {{"state", NameOf(job.state())}}};
}

Problem Reserved(std::string_view how) {
  return {.code = "job-reserved",
          .detail = fmt::format("a consumer holds the job{}", how),
          .more = {{"state", "reserved"}}};
}

Reply Refused(Code code, std::string_view tube) {
  return code == Code::kNotFound ? NoSuch("job") : RefusalOf(code, tube);
}

// The job after an act, or why that was refused.
Reply AfterAct(const Call& call, const Outcome& outcome, std::string_view tube) {
  return outcome.ok() ? JobReply(call.services, call.act.job, outcome.lsn)
                      : Refused(outcome.code, tube);
}

}  // namespace

Reply GetJob(Call& call) {
  const Job* const job = JobOf(call);
  if (job == nullptr) return NoSuch("job");
  return JobReply(call.services, job->id(), 0);
}

Reply DeleteJob(Call& call) {
  const bool force = call.fields.Truth("force").value_or(false);
  if (!call.fields.Finish()) return call.fields.problem();
  const Job* const job = JobOf(call);
  if (job == nullptr) return NoSuch("job");
  if (job->state() == JobState::kReserved && !force) {
    return Reserved(": ask with force=true to take it away");
  }
  const Outcome outcome = call.engine().Cancel(call.now, job->id());
  if (!outcome.ok()) return Refused(outcome.code, call.act.tube);
  return Reply::Empty().Durable(outcome.lsn);
}

Reply KickJob(Call& call) {
  if (!call.fields.Finish()) return call.fields.problem();
  const Job* const job = JobOf(call);
  if (job == nullptr) return NoSuch("job");
  if (job->state() != JobState::kBuried && job->state() != JobState::kDelayed) {
    return WrongState(*job, "buried or delayed");
  }
  return AfterAct(call, call.engine().KickJob(call.now, job->id()), call.act.tube);
}

Reply BuryJob(Call& call) {
  const auto given = call.fields.Integer("priority", 0, kMost32);
  const bool force = call.fields.Truth("force").value_or(false);
  if (!call.fields.Finish()) return call.fields.problem();
  const Job* const job = JobOf(call);
  if (job == nullptr) return NoSuch("job");
  if (job->state() == JobState::kBuried) return WrongState(*job, "ready, delayed or reserved");
  if (job->state() == JobState::kReserved && !force) {
    return Reserved(": ask with \"force\":true to take it away");
  }
  std::optional<std::uint32_t> priority;
  if (given) priority = static_cast<std::uint32_t>(*given);
  return AfterAct(call, call.engine().Bury(job->id(), priority, force), call.act.tube);
}

Reply ReleaseJob(Call& call) {
  const auto delay = call.fields.IntegerOr("delay_seconds", 0, kMost32, 0);
  if (!call.fields.Finish()) return call.fields.problem();
  const Job* const job = JobOf(call);
  if (job == nullptr) return NoSuch("job");
  if (job->state() != JobState::kReserved) return WrongState(*job, "reserved");
  const auto delay_s = static_cast<std::uint32_t>(delay);
  return AfterAct(call, call.engine().TakeBack(call.now, job->id(), delay_s), call.act.tube);
}

Reply MoveJob(Call& call) {
  const auto to = call.fields.Needed("to", call.fields.Bytes("to"));
  if (!call.fields.Finish()) return call.fields.problem();
  const Job* const job = JobOf(call);
  if (job == nullptr) return NoSuch("job");
  if (auto problem = CheckTubeName(call, *to, "to")) return std::move(*problem);
  if (job->state() == JobState::kReserved) return Reserved(": release or bury it first");
  return AfterAct(call, call.engine().Move(call.now, job->id(), *to), *to);
}

Reply CopyJob(Call& call) {
  const auto to = call.fields.Bytes("to");
  const auto priority = call.fields.Integer("priority", 0, kMost32);
  const auto delay = call.fields.IntegerOr("delay_seconds", 0, kMost32, 0);
  const auto ttr = call.fields.Integer("ttr_seconds", 0, kMost32);
  if (!call.fields.Finish()) return call.fields.problem();
  const Job* const job = JobOf(call);
  if (job == nullptr) return NoSuch("job");
  const std::string tube = to.value_or(job->tube().name());
  if (auto problem = CheckTubeName(call, tube, "to")) return std::move(*problem);
  return WithBody(
      call.services, *job,
      [&services = call.services, tube, priority, ttr, delay](const Job& whole) {
        JobPtr copy = CopyOf(whole);
        if (copy == nullptr) return Refused(services.engine.RefuseBody(), tube);
        if (priority) copy->priority = static_cast<std::uint32_t>(*priority);
        if (ttr) copy->ttr_s = std::max(static_cast<std::uint32_t>(*ttr), 1U);
        copy->delay_s = static_cast<std::uint32_t>(delay);
        return PutInto(services, tube, std::move(copy), [&services, tube](const Added& added) {
          return added.ok() ? PutReply(services, added.id, added.lsn) : Refused(added.code, tube);
        });
      });
}

}  // namespace gearstalk::api
