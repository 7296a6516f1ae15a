#include "broker/engine/unique_index.h"

#include <xxhash.h>

#include "broker/engine/tube.h"

namespace gearstalk {

std::uint64_t UniqueIndex::Hash(const Tube& tube, std::string_view key) {
  return XXH3_64bits_withSeed(key.data(), key.size(), tube.id() ^ HashSeed());
}

Job* UniqueIndex::Find(const Tube& tube, std::string_view key, bool is_body) const {
  return jobs_.Find(Hash(tube, key), [&](const Job& job) { return Has(job, tube, key, is_body); });
}

}  // namespace gearstalk
