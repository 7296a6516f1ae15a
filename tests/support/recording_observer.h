#pragma once

#include <string>
#include <utility>
#include <vector>

#include "broker/engine/job_observer.h"

namespace gearstalk {

// A client of foreground jobs that writes down what it is told. Engine::Forget comes before its
// end, unless all its jobs are finished.
class RecordingObserver final : public JobObserver {
 public:
  // What it was told since the last call: "<id> data <text>", "<id> warning <text>",
  // "<id> status <n>/<d>", "<id> completed <text>", "<id> failed", "<id> exception <text>".
  std::vector<std::string> Heard() { return std::exchange(heard_, {}); }
  // What has to be durable before the last end of a job may be told.
  Lsn lsn() const { return lsn_; }

  void OnProgress(const Job& job, const Progress& progress, std::uint64_t times) override {
    for (; times > 0; --times) Hear(job, progress);
  }

  void OnFinished(const Job& job, const Finish& finish, std::uint64_t times) override {
    lsn_ = finish.lsn;
    for (; times > 0; --times) Hear(job, finish);
  }

 private:
  void Hear(const Job& job, const Progress& progress) {
    switch (progress.kind) {
      case Progress::Kind::kData:
        return Hear(job, "data", progress.data);
      case Progress::Kind::kWarning:
        return Hear(job, "warning", progress.data);
      case Progress::Kind::kStatus:
        return Hear(
            job, "status",
            std::to_string(progress.numerator) + "/" + std::to_string(progress.denominator));
    }
  }

  void Hear(const Job& job, const Finish& finish) {
    switch (finish.kind) {
      case Finish::Kind::kCompleted:
        return Hear(job, "completed", finish.data);
      case Finish::Kind::kFailed:
        return Hear(job, "failed", finish.data);
      case Finish::Kind::kException:
        return Hear(job, "exception", finish.data);
    }
  }

  void Hear(const Job& job, std::string_view what, std::string_view text) {
    std::string line = std::to_string(job.id()) + ' ' + std::string(what);
    if (!text.empty()) line.append(1, ' ').append(text);
    heard_.push_back(std::move(line));
  }

  std::vector<std::string> heard_;
  Lsn lsn_ = 0;
};

}  // namespace gearstalk
