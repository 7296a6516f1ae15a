#include "admin/api/problem.h"

#include <fmt/format.h>

namespace gearstalk::api {
namespace {

struct Kind {
  std::string_view code;
  int status;
  std::string_view title;
};

constexpr Kind kKinds[] = {
    {"bad-request", 400, "The request is malformed"},
    {"unauthenticated", 401, "A valid token is needed"},
    {"forbidden", 403, "The role does not allow it"},
    {"bodies-forbidden", 403, "The right to see bodies is missing"},
    {"cross-site", 403, "The request comes from another site"},
    {"access-not-configured", 403, "Nobody has access from here yet"},
    {"not-found", 404, "There is no such thing"},
    {"method-not-allowed", 405, "The path does not take this method"},
    {"job-state", 409, "The job is in another state"},
    {"job-reserved", 409, "A consumer holds the job"},
    {"in-use", 409, "It is in use"},
    {"no-standby", 409, "No standby has caught up"},
    {"count-mismatch", 409, "The count is another one"},
    {"idempotency-conflict", 409, "The key was used for another request"},
    {"damaged", 409, "The body is damaged"},
    {"operation-state", 409, "The operation is in another state"},
    {"expired", 410, "It has expired"},
    {"too-large", 413, "The request is too large"},
    {"unsupported-media-type", 415, "The body must be JSON"},
    {"bad-host", 421, "The host name is not accepted"},
    {"too-many-requests", 429, "Too many requests"},
    {"busy", 503, "Too much is under way"},
    {"http-version", 505, "The version of HTTP is not spoken"},
    {"draining", 503, "The broker takes no new jobs"},
    {"maxqueue", 503, "The tube has as many jobs as allowed"},
    {"group_jobs", 503, "The group has as many jobs as allowed"},
    {"group_missing", 503, "The tube takes no jobs without a group"},
    {"memory", 503, "The memory limit is reached"},
    {"tubes", 503, "There are as many tubes as allowed"},
    {"standby", 503, "Another broker leads"},
    {"journal", 503, "The journal cannot make the change durable"},
    {"disk", 503, "The disk of the journal cannot do this now"},
};

const Kind& KindOf(std::string_view code) {
  for (const Kind& kind : kKinds) {
    if (kind.code == code) return kind;
  }
  return kKinds[0];
}

}  // namespace

int StatusOf(std::string_view code) { return KindOf(code).status; }

Json DocumentOf(const Problem& problem, std::string_view request_id) {
  const Kind& kind = KindOf(problem.code);
  Json document = {{"type", fmt::format("urn:gearstalk:problem:{}", kind.code)},
                   {"title", kind.title},
                   {"status", kind.status},
                   {"code", kind.code},
                   {"detail", TextOf(problem.detail)},
                   {"field", TextOrNull(problem.field)},
                   {"request_id", request_id}};
  for (const auto& [name, value] : problem.more.items()) document[name] = value;
  return document;
}

Problem NoMemory() { return {"memory", "the system gives no memory for this"}; }

Problem RefusalOf(Code code, std::string_view what) {
  switch (code) {
    case Code::kDraining:
      return {"draining", "the broker is draining and takes no new jobs until that is ended"};
    case Code::kQueueFull:
      return {"maxqueue", fmt::format("maxqueue of tube {} is reached", TextOf(what))};
    case Code::kGroupFull:
      return {"group_jobs", fmt::format("group_max_jobs of tube {} is reached", TextOf(what))};
    case Code::kGroupMissing:
      return {"group_missing", fmt::format("tube {} takes no job without a group", TextOf(what))};
    case Code::kOutOfMemory:
      return {"memory", "limits.memory is reached"};
    case Code::kTooManyTubes:
      return {"tubes", "limits.tubes is reached"};
    case Code::kDiskLow:
      return {"disk", "the disk of the journal has less free than limits.free_disk"};
    case Code::kInUse:
      return {"in-use", fmt::format("{} has workers, jobs or waiting clients", TextOf(what))};
    case Code::kInvalid:
      return {"bad-request", fmt::format("{} is no tube that takes jobs", TextOf(what))};
    case Code::kNotFound:
      return {"not-found", fmt::format("there is no {}", TextOf(what))};
    default:
      return {"journal", "the journal has failed or is full: nothing was changed"};
  }
}

}  // namespace gearstalk::api
