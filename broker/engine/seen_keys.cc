#include "broker/engine/seen_keys.h"

#include <xxhash.h>

#include <utility>

#include "broker/engine/tube.h"
#include "broker/engine/unique_index.h"
#include "broker/journal/record.h"

namespace gearstalk {
namespace {

std::uint64_t HashOf(std::string_view tube, const SeenKeys::Key& key) {
  return XXH3_64bits_withSeed(key.data(), key.size(),
                              XXH3_64bits_withSeed(tube.data(), tube.size(), HashSeed()));
}

std::uint64_t HashOf(JobId id) { return XXH3_64bits(&id, sizeof(id)); }

}  // namespace

SeenKeys::~SeenKeys() {
  while (by_time_.size() > 0) Remove(*by_time_.top());
}

// A text and an equal body are two keys.
SeenKeys::Key SeenKeys::KeyOf(const Job& job) {
  const std::string_view key = UniqueIndex::KeyOf(job);
  if (!job.body_hash().empty()) return Key(key);
  if (job.unique_is_body) return Key(View(HashOfBody(key)));
  const XXH128_hash_t hash = XXH3_128bits_withSeed(key.data(), key.size(), 0);
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  return {reinterpret_cast<const char*>(bytes.digest), sizeof(bytes.digest)};
}

const SeenKeys::Seen* SeenKeys::Find(std::string_view tube, const Key& key) const {
  if (size() == 0) return nullptr;
  return by_key_.Find(HashOf(tube, key),
                      [&](const Seen& seen) { return seen.tube == tube && seen.key == key; });
}

const SeenKeys::Seen* SeenKeys::FindById(JobId id) const {
  if (size() == 0) return nullptr;
  return by_id_.Find(HashOf(id), [&](const Seen& seen) { return seen.id == id; });
}

Record SeenKeys::RecordOf(const Seen& seen) {
  return {.kind = Record::Kind::kSeen,
          .id = seen.id,
          .tube = seen.tube,
          .seen_until = seen.until,
          .put_key = seen.key};
}

Lsn SeenKeys::Remember(const Job& job, Time until) {
  while (size() >= kMost) ForgetFirst();
  Seen seen{.id = job.id(),
            .tube = job.tube().name(),
            .key = KeyOf(job),
            .until = until,
            .stored = journal_.Persistent() && job.durable};
  const Lsn lsn = seen.stored ? journal_.Append(RecordOf(seen)) : 0;
  Add(std::move(seen));
  return lsn;
}

// A full disk may refuse the record: then a replay brings the key back, and it is forgotten again.
void SeenKeys::ForgetFirst() {
  Seen& first = *by_time_.top();
  const Record deletion{.kind = Record::Kind::kDelete, .id = first.id};
  const bool stored = first.stored;
  Remove(first);
  if (stored && journal_.Accepts(deletion.kind)) journal_.Append(deletion);
}

void SeenKeys::Tick(Time now, int& steps) {
  for (; steps > 0 && next() <= now; --steps) ForgetFirst();
}

void SeenKeys::Add(Seen seen) {
  Remove(seen.id);
  if (const Seen* const same = Find(seen.tube, seen.key)) Remove(same->id);
  auto* const added = new Seen(std::move(seen));
  by_key_.Insert(HashOf(added->tube, added->key), *added);
  by_id_.Insert(HashOf(added->id), *added);
  by_time_.Push(added->until, added);
}

void SeenKeys::Remove(JobId id) {
  if (const Seen* const seen = FindById(id)) Remove(*const_cast<Seen*>(seen));
}

void SeenKeys::Remove(Seen& seen) {
  by_key_.Remove(HashOf(seen.tube, seen.key), seen);
  by_id_.Remove(HashOf(seen.id), seen);
  by_time_.Remove(&seen);
  delete &seen;
}

}  // namespace gearstalk
