#pragma once

#include <cstdint>

#include "broker/base/lsn.h"
#include "broker/engine/job.h"
#include "broker/engine/report_data.h"

namespace gearstalk {

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
  friend class Engine;
  WaiterList<ByObserver> waits_;
};

}  // namespace gearstalk
