#include "admin/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <vector>

#include "broker/engine/slab.h"

namespace gearstalk {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

class Families {
 public:
  void Gauge(std::string name, std::string help, double value, std::string label = "",
             std::string label_value = "") {
    Add(MetricType::Gauge, std::move(name), std::move(help), value, std::move(label),
        std::move(label_value));
  }
  void Counter(std::string name, std::string help, double value) {
    Add(MetricType::Counter, std::move(name), std::move(help), value, "", "");
  }
  std::string Text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  // Values of one name come one after the other and are one family.
  void Add(MetricType type, std::string name, std::string help, double value, std::string label,
           std::string label_value) {
    name.insert(0, "gearstalkd_");
    if (families_.empty() || families_.back().name != name) {
      families_.push_back({std::move(name), std::move(help), type, {}});
    }
    ClientMetric metric;
    if (!label.empty()) metric.label.push_back({std::move(label), std::move(label_value)});
    (type == MetricType::Gauge ? metric.gauge.value : metric.counter.value) = value;
    families_.back().metric.push_back(std::move(metric));
  }

  std::vector<MetricFamily> families_;
};

double Number(auto value) { return static_cast<double>(value); }

void AddJobs(const EngineStats& stats, Families& out) {
  const std::string help = "Jobs by state.";
  out.Gauge("jobs", help, Number(stats.ready), "state", "ready");
  out.Gauge("jobs", help, Number(stats.reserved), "state", "reserved");
  out.Gauge("jobs", help, Number(stats.delayed), "state", "delayed");
  out.Gauge("jobs", help, Number(stats.buried), "state", "buried");
  out.Gauge("jobs_urgent", "Ready jobs with a priority below 1024.", Number(stats.urgent));
  out.Counter("jobs_total", "Jobs taken in since the start.", Number(stats.total_jobs));
  out.Counter("job_timeouts_total", "Reservations that ran out.", Number(stats.timeouts));
  out.Gauge("job_memory_bytes", "Memory of all jobs with their bodies.", Number(JobMemory()));
  out.Gauge("tubes", "Tubes, which are functions.", Number(stats.tubes));
}

void AddConnections(const EngineStats& stats, const ConnectionList& connections,
                    const TrafficCounts& traffic, Families& out) {
  out.Gauge("connections", "Open connections.", Number(connections.Count()));
  out.Counter("connections_total", "Connections since the start.", Number(connections.Total()));
  const std::string help = "Connections that ever did it (waiting: that do).";
  out.Gauge("connections_by_role", help, Number(stats.producers), "role", "producer");
  out.Gauge("connections_by_role", help, Number(stats.workers), "role", "worker");
  out.Gauge("connections_by_role", help, Number(stats.waiting), "role", "waiting");
  out.Counter("received_bytes_total", "Bytes read from clients.", Number(traffic.received_bytes));
  out.Counter("sent_bytes_total", "Bytes sent to clients.", Number(traffic.sent_bytes));
}

void AddJournal(const Journal& journal, Families& out) {
  if (!journal.Persistent()) return;
  const JournalStats stats = journal.Stats();
  out.Gauge("journal_failed", "1 while the journal does not take new jobs.",
            journal.Health().ok() ? 0 : 1);
  out.Counter("journal_records_total", "Records appended.", Number(stats.appends));
  out.Counter("journal_appended_bytes_total", "Bytes appended.", Number(stats.appended_bytes));
  out.Counter("journal_batches_total", "Writes to the disk.", Number(stats.batches));
  out.Counter("journal_syncs_total", "Syncs of the disk.", Number(stats.syncs));
  out.Counter("journal_sync_seconds_total", "Time that syncs took.",
              Number(stats.sync_times.sum) / Number(kSecond));
  out.Counter("journal_migrated_records_total", "Records carried forward by compaction.",
              Number(stats.migrated));
  out.Gauge("journal_segments", "Segment files.", Number(stats.segments));
  out.Gauge("journal_disk_bytes", "Bytes of all segment files.", Number(stats.disk_bytes));
  out.Gauge("journal_waiting_bytes", "Bytes appended and not yet written.",
            Number(journal.WaitingBytes()));
}

}  // namespace

std::string MetricsText(const Engine& engine, const ConnectionList& connections,
                        const TrafficCounts& traffic) {
  Families out;
  const EngineStats stats = engine.Stats();
  AddJobs(stats, out);
  AddConnections(stats, connections, traffic, out);
  out.Gauge("draining", "1 while no new jobs are taken.", engine.draining() ? 1 : 0);
  AddJournal(engine.journal(), out);
  return out.Text();
}

}  // namespace gearstalk
