#include <fmt/format.h>

#include <algorithm>

#include "admin/api/answers.h"
#include "admin/api/json.h"
#include "admin/api/objects.h"
#include "admin/api/routes.h"

namespace gearstalk::api {
namespace {

constexpr std::uint64_t kMaxPutBody = 1 << 20;  // bytes of a job that is put here
constexpr std::uint64_t kMaxKick = 1'000'000;
constexpr std::uint32_t kUsualPriority = 65536;
constexpr std::uint32_t kUsualTtr = 60;  // seconds

// The tube after an act, or why it was refused. The tube may have gone with the act.
Reply TubeReply(const Call& call, const Outcome& outcome, int status = 200) {
  const std::string& name = call.act.tube;
  if (!outcome.ok()) return RefusalOf(outcome.code, name);
  const Tube* const tube = call.engine().FindTube(name);
  return Reply::Of(TubeObject(call.engine(), name, tube, call.now), status).Durable(outcome.lsn);
}

Task KickSome(const Services& services, std::string tube, std::uint64_t wanted,
              std::optional<KickFrom> from) {
  constexpr std::uint64_t kKickSlice = 32;  // jobs
  std::uint64_t kicked = 0;
  Lsn lsn = 0;
  for (;; co_await NextSlice()) {
    const std::uint64_t slice = std::min<std::uint64_t>(wanted - kicked, kKickSlice);
    const Kicked some = services.engine.Kick(services.Now(), tube, slice, from);
    kicked += some.count;
    lsn = std::max(lsn, some.lsn);
    co_yield kicked;
    if (kicked == 0 && some.code != Code::kOk) co_return RefusalOf(some.code, "tube");
    if (some.code != Code::kOk || some.count < slice || kicked == wanted) break;
  }
  co_return Reply::Of({{"kicked", kicked}, {"state", from->delayed ? "delayed" : "buried"}})
      .Durable(lsn);
}

// Bytes that a body may have which is put into a tube.
std::uint64_t MaxPutBody(const Call& call, const std::string& tube) {
  const std::uint64_t most = std::min(kMaxPutBody, call.services.host.Facts().max_job_size);
  const std::uint32_t of_tube = call.engine().policies().MaxJobSize(tube);
  return of_tube == 0 ? most : std::min(most, std::uint64_t{of_tube});
}

}  // namespace

Reply CreateTube(Call& call) {
  const auto name = call.fields.Needed("name", call.fields.Bytes("name"));
  if (!call.fields.Finish()) return call.fields.problem();
  call.act.tube = *name;
  if (auto problem = CheckTubeName(call, *name, "name")) return std::move(*problem);
  const Tube* const known = call.engine().FindTube(*name);
  const bool made = known != nullptr && known->settings.created_function;
  const Outcome outcome = call.engine().CreateFunction(*name);
  if (!outcome.ok()) return RefusalOf(outcome.code, *name);
  return TubeReply(call, outcome, made ? 200 : 201)
      .With("Location", LocationOf(call.services, "/tubes/" + RefOf(*name)));
}

Reply GetTube(Call& call) {
  const Tube* const tube = TubeOf(call);
  if (tube == nullptr) return NoSuch("tube");
  return Reply::Of(TubeObject(call.engine(), tube->name(), tube, call.now));
}

Reply DropTube(Call& call) {
  if (TubeOf(call) == nullptr) return NoSuch("tube");
  const Outcome outcome = call.engine().DropFunction(call.act.tube);
  if (!outcome.ok()) return RefusalOf(outcome.code, call.act.tube);
  return Reply::Empty().Durable(outcome.lsn);
}

Reply PauseTube(Call& call) {
  const auto seconds = call.fields.Needed("seconds", call.fields.Integer("seconds", 1, kMost32));
  if (!call.fields.Finish()) return call.fields.problem();
  if (TubeOf(call) == nullptr) return NoSuch("tube");
  return TubeReply(
      call, call.engine().Pause(call.now, call.act.tube, static_cast<std::uint32_t>(*seconds)));
}

Reply ResumeTube(Call& call) {
  if (!call.fields.Finish()) return call.fields.problem();
  if (TubeOf(call) == nullptr) return NoSuch("tube");
  return TubeReply(call, call.engine().Pause(call.now, call.act.tube, 0));
}

Reply SetMaxQueue(Call& call) {
  MaxQueue limits{};
  const auto all = call.fields.Integer("all", 0, kMost32);
  if (all) {
    limits.fill(static_cast<std::int64_t>(*all));
  } else {
    constexpr std::string_view kBandNames[] = {"high", "normal", "low"};
    for (std::size_t band = 0; band < limits.size(); ++band) {
      const auto limit = call.fields.Needed(
          kBandNames[band], call.fields.Integer(kBandNames[band], 0, kMost32), "is needed, or all");
      limits[band] = static_cast<std::int64_t>(limit.value_or(0));
    }
  }
  if (!call.fields.Finish()) return call.fields.problem();
  if (auto problem = CheckTubeName(call, call.act.tube, "tube")) return std::move(*problem);
  return TubeReply(call, call.engine().SetMaxQueue(call.act.tube, limits));
}

Reply ResetMaxQueue(Call& call) {
  if (TubeOf(call) == nullptr) return NoSuch("tube");
  return TubeReply(call, call.engine().ResetMaxQueue(call.act.tube));
}

Reply KickTube(Call& call) {
  const auto count = call.fields.Needed("count", call.fields.Integer("count", 1, kMaxKick));
  const std::string state = call.fields.Word("state", {"buried", "delayed"});
  if (!call.fields.Finish()) return call.fields.problem();
  if (TubeOf(call) == nullptr) return NoSuch("tube");
  std::optional<KickFrom> from;
  if (!state.empty()) from = KickFrom{.delayed = state == "delayed"};
  return KickSome(call.services, call.act.tube, *count, from);
}

Reply PutJob(Call& call) {
  const auto body =
      call.fields.Needed("body", call.fields.Bytes("body"), "is needed, or body_base64");
  const auto unique = call.fields.Text("unique").value_or("");
  const bool fits = unique.size() <= Job::kMaxUnique && unique.find('\0') == std::string::npos;
  if (!fits) call.fields.Fail("unique", "expected at most 64 bytes without a NUL");
  const auto priority = call.fields.IntegerOr("priority", 0, kMost32, kUsualPriority);
  const auto delay = call.fields.IntegerOr("delay_seconds", 0, kMost32, 0);
  const auto ttr = call.fields.IntegerOr("ttr_seconds", 0, kMost32, kUsualTtr);
  if (!call.fields.Finish()) return call.fields.problem();
  const std::string& tube = call.act.tube;
  if (auto problem = CheckTubeName(call, tube, "tube")) return std::move(*problem);
  if (body->size() > MaxPutBody(call, tube)) {
    return Problem{"too-large", "a body put here has at most 1 MiB, and max_job_size", "body"};
  }
  JobPtr job = Job::TryNew(static_cast<std::uint32_t>(body->size()), unique);
  if (job == nullptr) return RefusalOf(call.engine().RefuseBody(), tube);
  std::copy(body->begin(), body->end(), job->space().begin());
  job->priority = static_cast<std::uint32_t>(priority);
  job->delay_s = static_cast<std::uint32_t>(delay);
  job->ttr_s = std::max(static_cast<std::uint32_t>(ttr), 1U);  // as for beanstalk's clients
  return PutInto(
      call.services, tube, std::move(job),
      [&services = call.services, tube](const Added& added) -> Reply {
        if (!added.ok()) return RefusalOf(added.code, tube);
        if (services.engine.Find(added.id) == nullptr) {
          Reply taken = Problem{
              "in-use",
              fmt::format("unique_for keeps the key of job {}, which has finished", added.id)};
          taken.made = added.id;
          return taken;
        }
        Reply reply = PutReply(services, added.id, added.lsn);
        reply.made = added.id;
        if (added.joined) reply.status = 200;
        return reply;
      });
}

}  // namespace gearstalk::api
