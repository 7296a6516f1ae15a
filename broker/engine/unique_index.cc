#include "broker/engine/unique_index.h"

#include <xxhash.h>

#include "broker/engine/tube.h"

namespace gearstalk {

std::uint64_t UniqueIndex::Hash(const Tube& tube, std::string_view key) {
  return XXH3_64bits_withSeed(key.data(), key.size(), tube.id() ^ HashSeed());
}

Job* UniqueIndex::Find(const Tube& tube, std::string_view key, bool is_body) const {
  return First(Hash(tube, key), [&](const Job& job) { return Has(job, tube, key, is_body); });
}

void UniqueIndex::InsertBeside(std::uint64_t hash, Job& job, Job& known) {
  const bool first = job.id() < known.id();
  Job& other = first ? known : job;
  others_.emplace(std::pair(hash, other.id()), &other);
  if (!first) return;
  jobs_.Remove(hash, known);
  jobs_.Insert(hash, job);
}

void UniqueIndex::RemoveBeside(std::uint64_t hash, Job& job) {
  if (others_.erase({hash, job.id()}) > 0) return;
  jobs_.Remove(hash, job);
  for (auto at = others_.lower_bound({hash, 0}); at != others_.end(); ++at) {
    Job& next = *at->second;
    if (at->first.first != hash) return;
    if (!Has(next, job.tube(), KeyOf(job), job.unique_is_body)) continue;
    others_.erase(at);
    return jobs_.Insert(hash, next);
  }
}

}  // namespace gearstalk
