#pragma once

#include <cstdint>
#include <string_view>

#include "broker/engine/job.h"
#include "broker/engine/linear_hash.h"

namespace gearstalk {

// Finds the unfinished job of a tube with a unique key. Buried jobs are not in it: they have
// failed, and their key is free until they are kicked.
class UniqueIndex {
 public:
  // What a job is found by: its key, or its body if the key is Gearman's "-". The hash stands for a
  // body that may leave memory.
  static std::string_view KeyOf(const Job& job) {
    if (!job.unique_is_body) return job.unique();
    return job.body_hash().empty() ? job.body() : job.body_hash();
  }
  static bool HasKey(const Job& job) { return !KeyOf(job).empty(); }

  // The job with this key (one of them, if another was kicked), or nullptr.
  // `is_body` says what kind of key it is: a text and an equal body are two keys.
  Job* Find(const Tube& tube, std::string_view key, bool is_body = false) const;

  struct Match {
    Job* equal = nullptr;  // a job with this key
    Job* cold = nullptr;   // or one that may have it: its body has to be compared first
  };
  // `body`: the whole one where `key` is its hash. Jobs that `passes` are not cold.
  template <typename Passes>
  Match FindEqual(const Tube& tube, std::string_view key, bool is_body, std::string_view body,
                  Passes passes) const {
    Job* const first = jobs_.Find(Hash(tube, key), [&](const Job& job) {
      if (!Has(job, tube, key, is_body)) return false;
      if (body.empty()) return true;
      if (job.body_size() != body.size()) return false;
      return job.has_body() ? job.body() == body : !passes(job);
    });
    const bool cold = first != nullptr && !body.empty() && !first->has_body();
    return cold ? Match{nullptr, first} : Match{first, nullptr};
  }
  void Insert(Job& job) { jobs_.Insert(Hash(job), job); }
  void Remove(Job& job) { jobs_.Remove(Hash(job), job); }
  std::size_t size() const { return jobs_.size(); }

  // The job's end is near: fetches what Remove will touch, while there is something else to do.
  // Always inline, as LinearHash::Prefetch is.
  [[gnu::always_inline]] void Prefetch(const Job& job) const { jobs_.Prefetch(Hash(job)); }

 private:
  static bool Has(const Job& job, const Tube& tube, std::string_view key, bool is_body) {
    return &job.tube() == &tube && job.unique_is_body == is_body && KeyOf(job) == key;
  }
  static std::uint64_t Hash(const Tube& tube, std::string_view key);
  static std::uint64_t Hash(const Job& job) { return Hash(job.tube(), KeyOf(job)); }

  LinearHash<Job> jobs_;
};

}  // namespace gearstalk
