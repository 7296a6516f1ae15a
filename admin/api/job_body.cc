#include "admin/api/job_body.h"

#include <fmt/format.h>

#include <utility>

namespace gearstalk::api {
namespace {

constexpr Time kPatience = 5 * kSecond;

Task ReadFirst(const Services& services, JobPtr job, std::function<Reply(const Job&)> make) {
  Engine& engine = services.engine;
  const Time begin = services.Now();
  BodyWait wait;
  engine.bodies().Bring(*job, wait, BodyUse::kQuery);
  while (wait.coming()) {
    if (services.Now() - begin > kPatience) {
      co_return Problem{"disk", "the body cannot be read from the disk now"};
    }
    co_await NextSlice();
  }
  if (wait.state() == BodyWait::State::kDamaged) {
    co_return Problem{"damaged", fmt::format("the body of job {} is damaged", job->id())};
  }
  job.reset();
  Reply reply = make(*wait.job());
  engine.bodies().LetGo(wait);
  co_return reply;
}

}  // namespace

bool BodyIsKnown(Engine& engine, const Job& job, BodyWait& wait) {
  if (job.has_body()) return true;
  if (wait.job() != &job) {
    engine.bodies().LetGo(wait);
    engine.bodies().Bring(const_cast<Job&>(job), wait, BodyUse::kQuery);
  }
  return !wait.coming();
}

Reply WithBody(const Services& services, const Job& job,
               std::function<Reply(const Job& job)> make) {
  if (job.has_body()) return make(job);
  return ReadFirst(services, Job::Ref(const_cast<Job&>(job)), std::move(make));
}

}  // namespace gearstalk::api
