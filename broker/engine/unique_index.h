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
  // What a job is found by: its key, or its body if the key is Gearman's "-".
  static std::string_view KeyOf(const Job& job) {
    return job.unique_is_body() ? job.body() : job.unique();
  }
  static bool HasKey(const Job& job) { return !KeyOf(job).empty(); }

  // The job with this key (one of them, if another was kicked), or nullptr.
  // `is_body` says what kind of key it is: a text and an equal body are two keys.
  Job* Find(const Tube& tube, std::string_view key, bool is_body = false) const;
  void Insert(Job& job);
  void Remove(Job& job);
  std::size_t size() const { return jobs_.size(); }

  // The job's end is near: fetches what Remove will touch, while there is something else to do.
  void Prefetch(const Job& job) const { jobs_.Prefetch(Hash(job)); }

 private:
  static std::uint64_t Hash(const Tube& tube, std::string_view key);
  static std::uint64_t Hash(const Job& job) { return Hash(job.tube(), KeyOf(job)); }

  LinearHash<Job> jobs_;
};

}  // namespace gearstalk
