#include "admin/api/answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "admin/api/guard.h"
#include "admin/api/json.h"
#include "admin/api/objects.h"
#include "broker/base/split.h"

namespace gearstalk::api {
namespace {

constexpr std::size_t kMaxTubeName = 512;  // bytes

Task ReadFirst(const Services& services, JobPtr job, std::function<Reply(const Job&)> make) {
  BodyQuery body(services.engine.bodies());
  while (!body.Knows(services.Now(), *job)) {
    if (body.Late(services.Now())) co_return NoDisk();
    co_await NextSlice();
  }
  if (!job->has_body()) {
    co_return Problem{"damaged", fmt::format("the body of job {} is damaged", job->id())};
  }
  Reply reply = make(*job);
  job.reset();
  services.engine.bodies().LetGo(body);
  if (reply.work) {
    while (reply.work.Advance()) co_await NextSlice();
    co_return std::move(*reply.work.made().result);
  }
  co_return reply;
}

Task PutWhenCompared(const Services& services, std::string tube, JobPtr job, ComparisonPtr compared,
                     std::function<Reply(const Added&)> make) {
  const Time asked = services.Now();
  while (services.Now() - asked <= kBodyPatience) {
    if (!Waits(compared)) {
      const Added added = services.engine.PutInto(services.Now(), tube, std::move(job), &compared);
      if (!Waits(compared)) co_return make(added);
    }
    co_await NextSlice();
  }
  co_return NoDisk();
}

}  // namespace

std::string LocationOf(const Services& services, std::string_view path) {
  return fmt::format("{}/api/v1{}", services.guard.settings().base_path, path);
}

const Tube* TubeOf(Call& call) {
  const std::optional<std::string> name = NameOfRef(call.arguments[0]);
  if (!name || !call.caller.grant.Sees(*name)) return nullptr;
  return call.engine().FindTube(*name);
}

Problem NoSuch(std::string_view what) {
  return {"not-found", fmt::format("there is no such {}", what)};
}

std::uint64_t NumberOf(std::string_view argument) {
  std::uint64_t number = 0;
  return ParseNumber(argument, number) ? number : 0;
}

const Job* JobOf(Call& call) {
  const Job* const job = call.engine().Find(NumberOf(call.arguments[0]));
  return job != nullptr && call.caller.grant.Sees(job->tube().name()) ? job : nullptr;
}

Reply JobReply(const Services& services, JobId id, Lsn lsn) {
  const Job* const job = services.engine.Find(id);
  if (job == nullptr) return NoSuch("job");
  return Reply::Of(JobObject(services.engine, *job, services.Now(), false)).Durable(lsn);
}

Reply PutReply(const Services& services, JobId id, Lsn lsn) {
  Reply reply = JobReply(services, id, lsn);
  if (!reply.problem) reply.status = 201;
  return std::move(reply).With("Location", LocationOf(services, fmt::format("/jobs/{}", id)));
}

JobPtr CopyOf(const Job& job) {
  constexpr std::uint32_t kUsualTtr = 60;  // seconds
  JobPtr copy = Job::TryNew(static_cast<std::uint32_t>(job.body_size()));
  if (copy == nullptr) return nullptr;
  std::copy(job.body().begin(), job.body().end(), copy->space().begin());
  copy->priority = job.priority;
  copy->ttr_s = job.ttr_s == 0 ? kUsualTtr : job.ttr_s;
  return copy;
}

std::optional<Problem> CheckTubeName(const Call& call, std::string_view name,
                                     std::string_view field) {
  if (name.empty() || name.size() > kMaxTubeName) {
    return Problem{"bad-request", "expected a name of 1 to 512 bytes", std::string(field)};
  }
  if (TakesAnswers(name)) {
    return Problem{"bad-request", "tubes of this name take answers, not jobs", std::string(field)};
  }
  if (!call.caller.grant.Sees(name)) return NoSuch("tube");
  return std::nullopt;
}

std::optional<Problem> CheckBodies(const Call& call, const Filter& filter) {
  if (!filter.ReadsBody() || call.caller.grant.bodies) return std::nullopt;
  return Problem{"bodies-forbidden", "the right +bodies is needed to search in bodies"};
}

Problem NoDisk() { return {"disk", "a body cannot be read from the disk now"}; }

Reply WithBody(const Services& services, const Job& job,
               std::function<Reply(const Job& job)> make) {
  if (job.has_body()) return make(job);
  return ReadFirst(services, Job::Ref(const_cast<Job&>(job)), std::move(make));
}

Reply PutInto(const Services& services, const std::string& tube, JobPtr job,
              std::function<Reply(const Added& added)> make) {
  ComparisonPtr compared;
  const Added added = services.engine.PutInto(services.Now(), tube, std::move(job), &compared);
  if (!Waits(compared)) return make(added);
  return PutWhenCompared(services, tube, std::move(job), std::move(compared), std::move(make));
}

}  // namespace gearstalk::api
