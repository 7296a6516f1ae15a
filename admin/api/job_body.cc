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
  co_return reply;
}

}  // namespace

Problem NoDisk() { return {"disk", "a body cannot be read from the disk now"}; }

Reply WithBody(const Services& services, const Job& job,
               std::function<Reply(const Job& job)> make) {
  if (job.has_body()) return make(job);
  return ReadFirst(services, Job::Ref(const_cast<Job&>(job)), std::move(make));
}

}  // namespace gearstalk::api
