#pragma once

#include <algorithm>
#include <string_view>

#include "broker/engine/job.h"

namespace gearstalk {

// Jobs with ids and tubes, without an engine.
struct TEST_Job {
  static JobPtr Make(JobId id, std::uint32_t priority) {
    JobPtr job = Job::New(0, {}, id);
    job->priority = priority;
    return job;
  }

  static JobPtr Make(JobId id, Tube& tube, std::string_view unique, std::string_view body = {}) {
    JobPtr job = Job::New(static_cast<std::uint32_t>(body.size()), unique, id);
    std::copy(body.begin(), body.end(), job->space().begin());
    job->place = &tube;
    job->unique_is_body = unique == "-";
    return job;
  }
};

}  // namespace gearstalk
