#include "admin/metrics/replica_metrics.h"

namespace gearstalk {
namespace {

double Seconds(Time time) { return static_cast<double>(time) / static_cast<double>(kSecond); }

void AddEndpoints(const ReplicaStats& replica, MetricText& text) {
  text.Gauge("gearstalkd_replica_endpoint",
             "1: the next call goes to this node of the store first.");
  for (const ReplicaStats::Endpoint& each : replica.endpoints) {
    text.Add(std::uint64_t{each.in_use}, {{"endpoint", each.name}});
  }
  text.Gauge("gearstalkd_etcd_db_bytes", "Size of the file of a node of etcd; 0: not known.");
  for (const ReplicaStats::Endpoint& each : replica.endpoints) {
    text.Add(each.db_bytes, {{"endpoint", each.name}});
  }
}

void AddServer(const StoreServer& server, MetricText& text) {
  if (server.standbys_known) {
    text.Gauge("gearstalkd_postgres_synchronous_standbys",
               "Standbys of PostgreSQL that confirm commits.")
        .Add(std::uint64_t{server.standbys.size()});
  }
  text.Gauge("gearstalkd_postgres_primaries",
             "Servers that say they are primary: with two, no broker takes over.")
      .Add(server.primaries);
}

}  // namespace

void AddReplica(const Engine& engine, MetricText& text) {
  const Journal& journal = engine.journal();
  const ReplicaStats* const stats = journal.Replica();
  if (stats == nullptr) return;
  const ReplicaStats& replica = *stats;
  const bool follows = replica.role == ReplicaStats::Role::kFollowing;
  text.Gauge("gearstalkd_replica_active", "1 while this broker serves.")
      .Add(std::uint64_t{journal.MayServe()});
  text.Gauge("gearstalkd_replica_caught_up",
             "1 on a standby that applies what is there within 3 s, and hears the store.")
      .Add(std::uint64_t{follows && replica.caught_up && replica.trouble.empty()});
  text.Gauge("gearstalkd_replica_epoch", "Number of the reign: it rises with each takeover.")
      .Add(replica.epoch);
  text.Gauge("gearstalkd_replica_lease_left_seconds",
             "How long the active broker may serve without another beat.")
      .Add(Seconds(replica.lease_left));
  text.Gauge("gearstalkd_replica_behind_batches", "Batches a standby knows of and has not applied.")
      .Add(replica.behind_batches);
  text.Counter("gearstalkd_replica_takeovers_total", "Times that this broker became active.")
      .Add(replica.takeovers);
  text.Counter("gearstalkd_replica_suspended_total",
               "Times that this broker was active and had to stop serving for lack of a beat.")
      .Add(replica.suspensions);
  text.Counter("gearstalkd_replica_suspended_seconds_total",
               "Time for which this broker was active and did not serve.")
      .Add(Seconds(replica.suspended_time));
  text.Counter("gearstalkd_replica_append_retries_total", "Appends that were sent once more.")
      .Add(replica.append_retries);
  text.Gauge("gearstalkd_replica_log_bytes", "Bytes of the shared journal.").Add(replica.log_bytes);
  text.Gauge("gearstalkd_replica_max_bytes", "replica.max_bytes.").Add(replica.max_bytes);
  text.Gauge("gearstalkd_replica_clock_skew_seconds",
             "On a standby: the active broker's clock less this one's.")
      .Add(follows ? Seconds(replica.clock_skew) : 0.0);
  AddEndpoints(replica, text);
  if (replica.server) AddServer(*replica.server, text);
}

}  // namespace gearstalk
