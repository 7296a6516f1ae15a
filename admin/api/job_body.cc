#include "admin/api/job_body.h"

#include <fmt/format.h>

#include <utility>

namespace gearstalk::api {
namespace {

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
