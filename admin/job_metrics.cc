#include "admin/job_metrics.h"

#include "broker/engine/slab.h"

namespace gearstalk {
namespace {

constexpr JobCounter kCounters[] = {
    {"gearstalkd_jobs_put_total", "gearstalkd_tube_jobs_put_total", "New jobs, by put or submit.",
     &JobCounts::total_jobs},
    {"gearstalkd_jobs_reserved_total", "gearstalkd_tube_jobs_reserved_total",
     "Jobs handed to a consumer; one that came back counts again.", &JobCounts::reserves},
    {"gearstalkd_jobs_completed_total", "gearstalkd_tube_jobs_completed_total",
     "Jobs that their holder ended: WORK_COMPLETE, or delete.", &JobCounts::completed},
    {"gearstalkd_jobs_failed_total", "gearstalkd_tube_jobs_failed_total",
     "Jobs that failed: WORK_FAIL, WORK_EXCEPTION, or no tries left.", &JobCounts::failed},
    {"gearstalkd_jobs_deleted_total", "gearstalkd_tube_jobs_deleted_total",
     "Jobs taken away by delete, also by their holder.", &JobCounts::deletes},
    {"gearstalkd_jobs_cancelled_total", "gearstalkd_tube_jobs_cancelled_total",
     "Jobs taken away by 'cancel job'.", &JobCounts::cancelled},
    {"gearstalkd_jobs_dropped_total", "gearstalkd_tube_jobs_dropped_total",
     "Foreground jobs that went because no client waited for them any more.", &JobCounts::dropped},
    {"gearstalkd_jobs_released_total", "gearstalkd_tube_jobs_released_total",
     "Jobs that their holder released.", &JobCounts::releases},
    {"gearstalkd_jobs_timed_out_total", "gearstalkd_tube_jobs_timed_out_total",
     "Jobs that came back because their time to run was over.", &JobCounts::timeouts},
    {"gearstalkd_jobs_lost_total", "gearstalkd_tube_jobs_lost_total",
     "Jobs whose holder went away.", &JobCounts::lost},
    {"gearstalkd_jobs_buried_total", "gearstalkd_tube_jobs_buried_total",
     "Jobs that were buried, by bury or because they failed.", &JobCounts::buries},
    {"gearstalkd_jobs_kicked_total", "gearstalkd_tube_jobs_kicked_total", "Jobs that were kicked.",
     &JobCounts::kicks},
};

void AddHistogram(MetricText& text, std::string_view name, std::string_view help,
                  const TimeHistogram& times) {
  text.Histogram(name, help, TimeHistogram::kBounds, times.counts(), times.sum_seconds());
}

}  // namespace

std::span<const JobCounter> JobCounters() { return kCounters; }

void AddJobs(const Engine& engine, MetricText& text) {
  const EngineStats stats = engine.Stats();
  text.Gauge("gearstalkd_jobs", "Jobs by state.")
      .Add(stats.ready, {{"state", "ready"}})
      .Add(stats.reserved, {{"state", "reserved"}})
      .Add(stats.delayed, {{"state", "delayed"}})
      .Add(stats.buried, {{"state", "buried"}});
  text.Gauge("gearstalkd_jobs_urgent", "Ready jobs with a priority below 1024.").Add(stats.urgent);
  for (const JobCounter& counter : kCounters) {
    text.Counter(counter.name, counter.help).Add(stats.*counter.count);
  }
  AddHistogram(text, "gearstalkd_reserve_wait_seconds",
               "How long consumers had waited for each job they got; a sleeping worker's wait ends "
               "with its wakeup.",
               engine.waits());
  AddHistogram(text, "gearstalkd_job_age_at_reserve_seconds",
               "Time from the put of a job until a consumer got it.", engine.ages());
  text.Gauge("gearstalkd_job_memory_bytes", "Memory of all jobs with their bodies.")
      .Add(JobMemory());
  text.Gauge("gearstalkd_tubes", "Tubes, which are functions.").Add(stats.tubes);
  text.Gauge("gearstalkd_draining", "1 while no new jobs are taken.")
      .Add(std::uint64_t{engine.draining()});
}

}  // namespace gearstalk
