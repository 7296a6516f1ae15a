#pragma once

#include <absl/container/btree_map.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "broker/engine/job.h"
#include "broker/engine/linear_hash.h"

namespace gearstalk {

// Finds the unfinished job of a tube with a unique key. Buried jobs are not in it: they have
// failed, and their key is free until they are kicked, also beside a job that has taken it. Of
// several with one key, the one with the lowest id is found.
class UniqueIndex {
 public:
  // What a job is found by: its key, or its body if the key is Gearman's "-". The hash stands for a
  // body that may leave memory.
  static std::string_view KeyOf(const Job& job) {
    if (!job.unique_is_body) return job.unique();
    return job.body_hash().empty() ? job.body() : job.body_hash();
  }
  static bool HasKey(const Job& job) { return !KeyOf(job).empty(); }

  // The job with this key, or nullptr. `is_body` says what kind of key it is: a text and an
  // equal body are two keys.
  Job* Find(const Tube& tube, std::string_view key, bool is_body = false) const;

  struct Match {
    Job* equal = nullptr;  // a job with this key
    Job* cold = nullptr;   // or one that may have it: its body has to be compared first
  };
  // `body`: the whole one where `key` is its hash. Jobs that `passes` are not cold.
  template <typename Passes>
  Match FindEqual(const Tube& tube, std::string_view key, bool is_body, std::string_view body,
                  Passes passes) const {
    Job* const first = First(Hash(tube, key), [&](const Job& job) {
      if (!Has(job, tube, key, is_body)) return false;
      if (body.empty()) return true;
      if (job.body_size() != body.size()) return false;
      return job.has_body() ? job.body() == body : !passes(job);
    });
    const bool cold = first != nullptr && !body.empty() && !first->has_body();
    return cold ? Match{nullptr, first} : Match{first, nullptr};
  }
  void Insert(Job& job) {
    const std::uint64_t hash = Hash(job);
    Job* const known = Equal(hash, job);
    known == nullptr ? jobs_.Insert(hash, job) : InsertBeside(hash, job, *known);
  }
  void Remove(Job& job) {
    const std::uint64_t hash = Hash(job);
    others_.empty() ? jobs_.Remove(hash, job) : RemoveBeside(hash, job);
  }
  std::size_t size() const { return jobs_.size() + others_.size(); }

  // The job's end is near: fetches what Remove will touch, while there is something else to do.
  // Always inline, as LinearHash::Prefetch is.
  [[gnu::always_inline]] void Prefetch(const Job& job) const { jobs_.Prefetch(Hash(job)); }

 private:
  static bool Has(const Job& job, const Tube& tube, std::string_view key, bool is_body) {
    return &job.tube() == &tube && job.unique_is_body == is_body && KeyOf(job) == key;
  }
  // The job with the key of `job` that is in `jobs_`.
  Job* Equal(std::uint64_t hash, const Job& job) const {
    return jobs_.Find(hash, [&](const Job& other) {
      return Has(other, job.tube(), KeyOf(job), job.unique_is_body);
    });
  }
  template <typename Wanted>
  Job* First(std::uint64_t hash, Wanted wanted) const {
    if (Job* const first = jobs_.Find(hash, wanted)) return first;
    for (auto at = others_.lower_bound({hash, 0}); at != others_.end(); ++at) {
      if (at->first.first != hash) break;
      if (wanted(*at->second)) return at->second;
    }
    return nullptr;
  }
  void InsertBeside(std::uint64_t hash, Job& job, Job& known);
  void RemoveBeside(std::uint64_t hash, Job& job);
  static std::uint64_t Hash(const Tube& tube, std::string_view key);
  static std::uint64_t Hash(const Job& job) { return Hash(job.tube(), KeyOf(job)); }

  LinearHash<Job> jobs_;  // of each key the one with the lowest id
  // The others, by hash and id. Bodies that differ and have one hash count as one key here.
  absl::btree_map<std::pair<std::uint64_t, JobId>, Job*> others_;
};

}  // namespace gearstalk
