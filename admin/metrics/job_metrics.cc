#include "admin/metrics/job_metrics.h"

#include "broker/engine/slab.h"

namespace gearstalk {
namespace {

constexpr JobCounter kCounters[] = {
    {"gearstalkd_jobs_put_total", "New jobs, by put or submit.", &JobCounts::total_jobs},
    {"gearstalkd_jobs_reserved_total",
     "Jobs handed to a consumer; one that came back counts again.", &JobCounts::reserves},
    {"gearstalkd_jobs_completed_total", "Jobs that their holder ended: WORK_COMPLETE, or delete.",
     &JobCounts::completed},
    {"gearstalkd_jobs_failed_total",
     "Jobs that failed: WORK_FAIL, WORK_EXCEPTION, or no tries left.", &JobCounts::failed},
    {"gearstalkd_jobs_deleted_total", "Jobs taken away by delete, also by their holder.",
     &JobCounts::deletes},
    {"gearstalkd_jobs_cancelled_total", "Jobs taken away by 'cancel job'.", &JobCounts::cancelled},
    {"gearstalkd_jobs_dropped_total",
     "Foreground jobs that went because no client waited for them any more.", &JobCounts::dropped},
    {"gearstalkd_jobs_released_total", "Jobs that their holder released.", &JobCounts::releases},
    {"gearstalkd_jobs_timed_out_total", "Jobs that came back because their time to run was over.",
     &JobCounts::timeouts},
    {"gearstalkd_jobs_lost_total", "Jobs whose holder went away.", &JobCounts::lost},
    {"gearstalkd_jobs_buried_total", "Jobs that were buried, by bury or because they failed.",
     &JobCounts::buries},
    {"gearstalkd_jobs_kicked_total", "Jobs that were kicked.", &JobCounts::kicks},
    {"gearstalkd_jobs_retried_total", "Attempts that ended badly and are followed by another.",
     nullptr, &PolicyCounts::retries},
    {"gearstalkd_jobs_dead_total", "Jobs moved to the dead tube of their tube.", nullptr,
     &PolicyCounts::dead},
    {"gearstalkd_jobs_expired_total", "Jobs that waited beyond their expiry.", nullptr,
     &PolicyCounts::expired},
    {"gearstalkd_jobs_pruned_total", "Buried jobs removed by retention.", nullptr,
     &PolicyCounts::pruned},
    {"gearstalkd_jobs_duplicate_total", "Puts and submits that joined a job with the same key.",
     nullptr, &PolicyCounts::duplicates},
    {"gearstalkd_jobs_copied_total", "Copies made in other tubes of jobs of this tube.", nullptr,
     &PolicyCounts::copies},
};

}  // namespace

std::span<const JobCounter> JobCounters() { return kCounters; }

std::optional<double> OldestReadyAge(const Tube& tube, Time now) {
  const Job* const oldest = tube.OldestReady();
  if (oldest == nullptr) return std::nullopt;
  return Age(now, oldest->created);
}

void AddJobs(const Engine& engine, MetricText& text) {
  const EngineStats stats = engine.Stats();
  text.Gauge("gearstalkd_jobs", "Jobs by state.")
      .Add(stats.ready, {{"state", "ready"}})
      .Add(stats.reserved, {{"state", "reserved"}})
      .Add(stats.delayed, {{"state", "delayed"}})
      .Add(stats.buried, {{"state", "buried"}});
  text.Gauge("gearstalkd_buried_dead_jobs", stats.dead,
             "Buried jobs that were moved to a dead tube.");
  text.Gauge("gearstalkd_jobs_retrying", stats.retrying,
             "Delayed jobs that wait for their next attempt.");
  text.Gauge("gearstalkd_jobs_urgent", stats.urgent, "Ready jobs with a priority below 1024.");
  for (const JobCounter& counter : kCounters) {
    text.Counter(counter.name, counter.Of(stats), counter.help);
  }
  text.Histogram("gearstalkd_reserve_wait_seconds", engine.waits(),
                 "How long consumers had waited for each job they got; a sleeping worker's wait "
                 "ends with its wakeup.");
  text.Histogram("gearstalkd_job_age_at_reserve_seconds", engine.ages(),
                 "Time from the put of a job until a consumer got it.");
  text.Gauge("gearstalkd_job_memory_bytes", JobMemory(), "Memory of all jobs with their bodies.");
  text.Gauge("gearstalkd_table_memory_bytes", TableMemory(),
             "Memory of tubes, watches and those who wait for jobs.");
  text.Gauge(
      "gearstalkd_transfer_held_jobs", engine.transfers().held(),
      "Jobs that move in or out: stored, in no queue, and not among those of gearstalkd_jobs.");
  text.Gauge("gearstalkd_tubes", stats.tubes, "Tubes, which are functions.");
  text.Gauge("gearstalkd_remembered_keys", stats.remembered_keys,
             "Keys of finished jobs that stay taken.");
  text.Gauge("gearstalkd_draining", engine.draining(), "1 while no new jobs are taken.");
}

void AddSchedules(const Engine& engine, MetricText& text) {
  const Schedules::Map& schedules = engine.schedules().all();
  if (schedules.empty()) return;
  text.Counter("gearstalkd_schedule_runs_total",
               "Planned times of schedules, by what became of them.");
  for (const auto& [name, schedule] : schedules) {
    text.Add(schedule->runs, {{"schedule", name}, {"result", "put"}});
    text.Add(schedule->skipped, {{"schedule", name}, {"result", "skipped"}});
    text.Add(schedule->missed, {{"schedule", name}, {"result", "missed"}});
  }
  text.Gauge("gearstalkd_schedule_next_run_timestamp_seconds",
             "Next planned time of a schedule, in seconds since 1970; 0: none.");
  for (const auto& [name, schedule] : schedules) {
    const bool none = schedule->off || schedule->next == kNever;
    text.Add(none ? std::uint64_t{0} : static_cast<std::uint64_t>(schedule->next / kSecond),
             {{"schedule", name}});
  }
}

}  // namespace gearstalk
