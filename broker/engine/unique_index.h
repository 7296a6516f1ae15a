#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "broker/engine/job.h"

namespace gearstalk {

// Finds the unfinished job of a tube with a unique key. Buried jobs are in it, but are not found:
// they have failed, and their key is free until they are kicked. A linear hash table, chained
// through the jobs: it grows and shrinks by one bucket at a time, so no single command pays for a
// rehash.
class UniqueIndex {
 public:
  UniqueIndex();

  // What a job is found by: its key, or its body if the key is Gearman's "-".
  static std::string_view KeyOf(const Job& job) {
    return job.unique_is_body() ? job.body() : job.unique();
  }

  // The job with this key that is not buried (one of them, if another was kicked), or nullptr.
  // `is_body` says what kind of key it is: a text and an equal body are two keys.
  Job* Find(const Tube& tube, std::string_view key, bool is_body = false) const;
  void Insert(Job& job);
  void Remove(Job& job);
  std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kSegment = 1024;  // buckets allocated at a time

  static std::uint64_t Hash(const Tube& tube, std::string_view key);
  std::size_t BucketOf(std::uint64_t hash) const;
  Job*& Bucket(std::size_t index) const { return segments_[index / kSegment][index % kSegment]; }
  void Split();
  void Merge();

  std::vector<std::unique_ptr<Job*[]>> segments_;
  std::size_t buckets_ = kSegment;
  std::size_t size_ = 0;
};

}  // namespace gearstalk
