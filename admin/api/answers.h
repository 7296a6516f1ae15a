#pragma once

#include <functional>
#include <optional>
#include <string>

#include "admin/api/call.h"
#include "admin/api/filter.h"
#include "broker/engine/bodies.h"

// What handlers share: what a request names and may have, and the answers about jobs.
namespace gearstalk::api {

// The tube named by the first argument of the path, if it exists and the caller may see it.
const Tube* TubeOf(Call& call);
// The job named by it, likewise.
const Job* JobOf(Call& call);
Problem NoSuch(std::string_view what);
// A problem of `field` if no tube can have this name, or if the caller may not see such a tube.
std::optional<Problem> CheckTubeName(const Call& call, std::string_view name,
                                     std::string_view field);
// A problem if the filter reads bodies, and the caller may not.
std::optional<Problem> CheckBodies(const Call& call, const Filter& filter);

// The number in an argument; 0, which is no id: not a number.
std::uint64_t NumberOf(std::string_view argument);

// The address for clients of `path`, which is below /api/v1: with the prefix of a proxy in front.
std::string LocationOf(const Services& services, std::string_view path);

// The answer to an act on a job: the job as it is now. It leaves when the act is durable.
Reply JobReply(const Services& services, JobId id, Lsn lsn);
// The same of a job that the act has put, with its address.
Reply PutReply(const Services& services, JobId id, Lsn lsn);
// A new job with the body (which is in memory), priority and TTR of `job`, without its key.
// nullptr: no memory.
JobPtr CopyOf(const Job& job);

// A body was awaited for too long.
Problem NoDisk();

// Answers with what `make` makes of a job whose body is in memory; reads the body first if it is
// not. `make` outlives the call.
Reply WithBody(const Services& services, const Job& job, std::function<Reply(const Job& job)> make);

// Puts a job into a tube and answers with what `make` makes of that; waits first if the job has to
// be compared.
Reply PutInto(const Services& services, const std::string& tube, JobPtr job,
              std::function<Reply(const Added& added)> make);

}  // namespace gearstalk::api
