#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/api/json.h"
#include "admin/api/ring.h"
#include "admin/http/slices.h"
#include "admin/metrics/attention.h"
#include "admin/metrics/loop_lag.h"
#include "admin/metrics/tube_survey.h"
#include "broker/engine/engine.h"
#include "broker/server/protocol.h"

namespace gearstalk::api {

class HistoryFile;

// The series, in this order; the first kTubeSeries are kept for tubes, too.
inline constexpr std::string_view kSeries[] = {"jobs_ready",
                                               "jobs_reserved",
                                               "jobs_delayed",
                                               "jobs_buried",
                                               "put_per_second",
                                               "reserved_per_second",
                                               "completed_per_second",
                                               "deleted_per_second",
                                               "failed_per_second",
                                               "timed_out_per_second",
                                               "oldest_ready_age_seconds",
                                               "connections",
                                               "workers",
                                               "waiting",
                                               "tubes",
                                               "job_memory_bytes",
                                               "resident_memory_bytes",
                                               "cpu_ratio",
                                               "loop_lag_seconds_max",
                                               "journal_sync_seconds_max"};
inline constexpr std::size_t kServerSeries = std::size(kSeries);
inline constexpr std::size_t kTubeSeries = 11;
inline constexpr std::size_t kTubesKept = 50;
// How many points a chart may be asked for.
inline constexpr std::uint64_t kMinPoints = 10, kMaxPoints = 3600;

// The history of the server and of its busiest tubes: an hour in detail, thirty days in outline.
class History final : public SliceWork {
 public:
  // `file`: where the thirty days are kept; empty: nowhere.
  History(const Engine& engine, const ConnectionList& connections, Attention& attention,
          SliceQueue& slices, const std::string& file);
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  // Every round; returns when the next one is wanted at latest.
  Time Tick(Time now);
  // The survey of all tubes, and of what needs attention.
  bool RunSlice(Time now) override;

  struct Query {
    std::vector<std::size_t> series;
    bool month = false;  // 30 d instead of 1 h
    std::optional<std::string> tube;
    std::size_t points = 360;
  };
  // Makes the JSON text of what there is now, on any thread.
  std::function<std::string()> Read(Query query, Time now) const;

  // Of the last minute, in seconds; null: nothing was measured.
  Json LagP99() const;
  const LoopLag& loop_lag() const { return lag_; }
  Json SyncP99() const;
  // In seconds, of the oldest ready job at the last survey. Nothing: none is ready.
  std::optional<double> OldestReadyAge(Time now) const;

 private:
  using TubeSample = std::array<float, kTubeSeries>;
  using ServerSample = std::array<float, kServerSeries>;

  struct Counters {
    JobCounts counts;
    Time at = 0;
  };
  struct TubeHistory {
    std::uint64_t id = 0;  // of the tube
    std::string name;
    Ring hour{10 * kSecond, 360, kTubeSeries};
    Ring month{3600 * kSecond, 720, kTubeSeries};
    Counters last;
    bool busy = false;
  };

  void OpenFile(const std::string& path);
  void Keep();
  void SampleServer(Time now);
  void SampleTubes(Time now);
  void EndSurvey(Time now);
  TubeHistory& HistoryOf(const Tube& tube);
  const TubeHistory* Find(std::string_view tube) const;
  float CpuRatio(Time now);
  float SyncMax();

  const Engine& engine_;
  const ConnectionList& connections_;
  Attention& attention_;
  SliceQueue& slices_;
  Time next_sample_ = 0;
  Time next_survey_ = 0;
  LoopLag lag_;
  std::unique_ptr<TubeSurvey> survey_;
  bool surveyed_ = false;  // all tubes
  std::shared_ptr<const TubeHeat> heat_;
  Time oldest_ready_ = 0;  // 0: none was ready
  Ring hour_{kSecond, 3600, kServerSeries};
  Ring month_{300 * kSecond, 8640, kServerSeries};
  std::vector<std::unique_ptr<TubeHistory>> tubes_;
  Counters last_;
  double cpu_seconds_ = 0;
  SyncTimes syncs_{};
  // Of lags and syncs so far, at each of the last 60 seconds.
  std::deque<TimeHistogram::Counts> lag_minute_;
  std::deque<SyncTimes::Counts> sync_minute_;
  std::unique_ptr<HistoryFile> file_;
  std::int64_t kept_step_ = -1;  // the last one of the server in the file
  std::int64_t kept_hour_ = -1;  // the last one of tubes
};

}  // namespace gearstalk::api
