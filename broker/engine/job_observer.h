#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "broker/base/lsn.h"
#include "broker/engine/job.h"
#include "broker/engine/linear_hash.h"

namespace gearstalk {

// What a consumer says of a job, for those who wait for it: whoever sends it later than now keeps
// it, and all who do so have one copy.
class ReportData {
 public:
  ReportData() = default;
  // The bytes live as long as the call that takes this.
  template <typename Bytes>
  requires std::convertible_to<const Bytes&, std::string_view> ReportData(const Bytes& bytes)
      : bytes_(bytes) {}  // NOLINT(google-explicit-constructor)
  // They live as long as `owner`: no copy is needed.
  ReportData(std::string_view bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}

  operator std::string_view() const { return bytes_; }  // NOLINT(google-explicit-constructor)
  std::size_t size() const { return bytes_.size(); }
  // As long as it is held, the bytes stay where they are from now on.
  const std::shared_ptr<const void>& Keep() const;

 private:
  mutable std::string_view bytes_;
  mutable std::shared_ptr<const void> owner_;
};

// The data of a job that ended without any.
inline constinit const ReportData kNoReport{};

// A text that counts as memory of jobs while somebody has it.
std::shared_ptr<const std::string_view> KeepText(std::string_view text);

// A report of the consumer that runs a job.
struct Progress {
  enum class Kind : std::uint8_t { kData, kWarning, kStatus };
  Kind kind;
  ReportData data;              // as the consumer wrote it
  std::uint32_t numerator = 0;  // kStatus
  std::uint32_t denominator = 0;
};

// How a job ended for those who wait for it.
struct Finish {
  enum class Kind : std::uint8_t { kCompleted, kFailed, kException };
  Kind kind;
  const ReportData& data;  // result of kCompleted, text of kException
  Lsn lsn;                 // tell nobody before this is durable
};

// Whoever waits for the end of jobs: a Gearman client with foreground jobs. It hears of one job as
// often as it joined it, `times` over in one call. Destroying it leaves all of them: call
// Engine::Forget first, which decides what becomes of the jobs. Called from inside engine calls:
// it must not call the engine back.
class JobObserver {
 public:
  virtual void OnProgress(const Job& job, const Progress& progress, std::uint64_t times) = 0;
  virtual void OnFinished(const Job& job, const Finish& finish, std::uint64_t times) = 0;

  // Whether there is a job whose end it waits for.
  bool awaits() const { return !waits_.empty(); }

 protected:
  virtual ~JobObserver() = default;

 private:
  friend class Waiters;
  WaiterList<ByObserver> waits_;
};

// Who waits for which job. Part of the store.
//
// Finding an observer's wait for a job is O(1): the first one of the job, which most jobs have
// alone, or in the index of the others.
class Waiters {
 public:
  // `effort` outlives it.
  explicit Waiters(std::uint64_t& effort) : effort_(effort) {}

  // An observer that joins a job again waits several times: each report is made once and sent as
  // often.
  void Add(Job& job, JobObserver& observer);
  // Ends the first wait of an observer, which has one; returns its job.
  Job& EndFirst(JobObserver& observer);
  void Drop(Job& job);
  void Tell(const Job& job, const Progress& progress) const;
  // Those who wait for the job, if there are any; they wait no longer.
  void Tell(Job& job, Finish::Kind kind, const ReportData& data, Lsn lsn) {
    if (job.OwnRest() != nullptr && !job.OwnRest()->waiters.empty()) TellAll(job, kind, data, lsn);
  }
  std::size_t Count(const Job& job) const;  // O(n) in the different ones

 private:
  void TellAll(Job& job, Finish::Kind kind, const ReportData& data, Lsn lsn);
  // nullptr: it is not in the index.
  Waiter* Find(const Job& job, const JobObserver& observer) const;
  void Remove(Waiter& waiter);

  LinearHash<Waiter> index_;
  std::uint64_t& effort_;
};

}  // namespace gearstalk
