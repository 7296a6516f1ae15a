#include "admin/metrics/metrics.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <system_error>

#include "admin/metrics/job_metrics.h"
#include "admin/metrics/tube_metrics.h"

namespace gearstalk {
namespace {

struct Memory {
  std::uint64_t size = 0, resident = 0;  // bytes; 0: the system does not say
};

Memory ReadMemory() {
  Memory memory;
  std::ifstream("/proc/self/statm") >> memory.size >> memory.resident;
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return {memory.size * page, memory.resident * page};
}

// The kernel tells their number since Linux 6.2; before, they are counted.
std::uint64_t OpenDescriptors() {
  struct stat directory {};
  if (stat("/proc/self/fd", &directory) != 0) return 0;
  if (directory.st_size > 0) return static_cast<std::uint64_t>(directory.st_size);
  std::error_code error;
  const std::filesystem::directory_iterator all("/proc/self/fd", error);
  return error ? 0 : static_cast<std::uint64_t>(std::distance(begin(all), end(all)));
}

void AddServer(const StoreServer& server, MetricText& text) {
  if (server.standbys_known) {
    text.Gauge("gearstalkd_postgres_synchronous_standbys", server.standbys.size(),
               "Standbys of PostgreSQL that confirm commits.");
  }
  text.Gauge("gearstalkd_postgres_primaries", server.primaries,
             "Servers that say they are primary: with two, no broker takes over.");
}

void AddEndpoints(const ReplicaStats& replica, MetricText& text) {
  text.Gauge("gearstalkd_replica_endpoint",
             "1: the next call goes to this node of the store first.");
  for (const EndpointStats& each : replica.endpoints) {
    text.Add(each.in_use, {{"endpoint", each.name}});
  }
  text.Gauge("gearstalkd_etcd_db_bytes", "Size of the file of a node of etcd; 0: not known.");
  for (const EndpointStats& each : replica.endpoints) {
    text.Add(each.db_bytes, {{"endpoint", each.name}});
  }
}

void AddReplica(const Engine& engine, MetricText& text) {
  const ReplicaStats& replica = engine.journal().Replica();
  if (!replica.shared) return;
  const bool follows = replica.role == ReplicaStats::Role::kFollowing;
  text.Gauge("gearstalkd_replica_active", engine.journal().MayServe(),
             "1 while this broker serves.");
  text.Gauge("gearstalkd_replica_caught_up",
             follows && replica.caught_up && replica.trouble.empty(),
             "1 on a standby that applies what is there within 3 s, and hears the store.");
  text.Gauge("gearstalkd_replica_epoch", replica.epoch,
             "Number of the reign: it rises with each takeover.");
  text.Gauge("gearstalkd_replica_lease_left_seconds", Seconds(replica.lease_left),
             "How long the active broker may serve without another beat.");
  text.Gauge("gearstalkd_replica_behind_batches", replica.behind_batches,
             "Batches a standby knows of and has not applied.");
  text.Counter("gearstalkd_replica_takeovers_total", replica.takeovers,
               "Times that this broker became active.");
  text.Counter("gearstalkd_replica_suspended_total", replica.suspensions,
               "Times that this broker was active and had to stop serving for lack of a beat.");
  text.Counter("gearstalkd_replica_suspended_seconds_total", Seconds(replica.suspended_time),
               "Time for which this broker was active and did not serve.");
  text.Counter("gearstalkd_replica_append_retries_total", replica.append_retries,
               "Appends that were sent once more.");
  text.Gauge("gearstalkd_replica_log_bytes", replica.log_bytes, "Bytes of the shared journal.");
  text.Gauge("gearstalkd_replica_max_bytes", replica.max_bytes, "replica.max_bytes.");
  text.Gauge("gearstalkd_replica_clock_skew_seconds", follows ? Seconds(replica.clock_skew) : 0.0,
             "On a standby: the active broker's clock less this one's.");
  AddEndpoints(replica, text);
  if (replica.server) AddServer(*replica.server, text);
}

void AddConnections(const MetricsSources& sources, const ServerFacts& server, MetricText& text) {
  const EngineStats stats = sources.engine.Stats();
  text.Gauge("gearstalkd_connections", "Open connections by the protocol they speak.");
  std::size_t undecided = sources.connections.Count();
  for (const Protocol* protocol : sources.protocols) {
    text.Add(protocol->connections(), {{"protocol", protocol->name()}});
    undecided -= std::min(undecided, protocol->connections());
  }
  text.Add(undecided, {{"protocol", "undecided"}});
  text.Gauge("gearstalkd_connections_by_role",
             "Open connections that have put (producer), that have reserved or can do a function "
             "(worker), and that wait for a job now (waiting).")
      .Add(stats.producers, {{"role", "producer"}})
      .Add(stats.workers, {{"role", "worker"}})
      .Add(stats.waiting, {{"role", "waiting"}});
  text.Counter("gearstalkd_connections_accepted_total", sources.connections.Total(),
               "Connections since the start.");
  text.Gauge("gearstalkd_connections_of_busiest_address", server.connections_of_busiest_address,
             "Open connections of the address that has the most; Unix sockets have none.");
  text.Gauge("gearstalkd_connections_stalled", server.stalled_connections,
             "Open connections whose commands wait until what was answered has left.");
  text.Counter("gearstalkd_log_lines_dropped_total", server.dropped_log_lines,
               "Lines that were not logged because the log was not read fast enough.");
  text.Counter("gearstalkd_output_stalls_total", server.output_stalls,
               "Times that a client's commands had to wait until it had read what was sent to it.");
  text.Counter("gearstalkd_received_bytes_total", server.received_bytes,
               "Bytes read from clients.");
  text.Counter("gearstalkd_sent_bytes_total", server.sent_bytes, "Bytes sent to clients.");
}

// The end of a broker is the end of its loop, so the processes' CPU is told apart.
void AddRouters(const ServerFacts& server, MetricText& text) {
  std::uint64_t streams = 0, in = 0, out = 0;
  for (const RouterFacts& router : server.routers) {
    streams += router.streams;
    in += router.from_link_bytes;
    out += router.to_link_bytes;
  }
  text.Gauge("gearstalkd_routers", server.routers.size(),
             "Processes that hold the clients' sockets; 0: the broker does.");
  text.Counter("gearstalkd_router_restarts_total", server.router_restarts,
               "Routers that were started in another's place.");
  text.Gauge("gearstalkd_router_streams", streams, "Clients whose sockets routers hold.");
  text.Counter("gearstalkd_link_bytes_total",
               "Bytes on the links to routers: in to the broker, out of it.")
      .Add(in, {{"direction", "in"}})
      .Add(out, {{"direction", "out"}});
  text.Counter("gearstalkd_cpu_seconds_total", "CPU time of the broker and of each router.")
      .Add(server.cpu_seconds, {{"process", "broker"}});
  for (std::size_t i = 0; i < server.routers.size(); ++i) {
    text.Add(server.routers[i].cpu_seconds, {{"process", "router-" + std::to_string(i)}});
  }
}

void AddCommands(const MetricsSources& sources, MetricText& text) {
  text.Counter("gearstalkd_commands_total", "Well-formed commands by protocol and verb.");
  for (const Protocol* protocol : sources.protocols) {
    protocol->VisitCounts([&](std::string_view verb, std::uint64_t count) {
      text.Add(count, {{"protocol", protocol->name()}, {"verb", verb}});
    });
  }
}

void AddRefused(const EngineStats& stats, const ServerFacts& server, MetricText& text) {
  text.Counter("gearstalkd_refused_total",
               "Jobs, connections and commands that were refused, by reason.");
  ForEachRefusal(stats, server, [&](std::string_view reason, std::uint64_t count) {
    text.Add(count, {{"reason", reason}});
  });
}

void AddAttention(const Concerns& concerns, MetricText& text) {
  text.Gauge(
      "gearstalkd_attention",
      "Tubes, or schedules, that need attention by kind; 1 for what the broker itself needs.");
  for (std::size_t kind = 0; kind < kConcerns; ++kind) {
    text.Add(concerns.Count(static_cast<Concern>(kind)), {{"kind", kConcernNames[kind]}});
  }
}

void AddLimits(const EngineLimits& limits, const ServerFacts& server, MetricText& text) {
  text.Gauge("gearstalkd_job_memory_limit_bytes", limits.memory,
             "Memory of all jobs at which new ones are refused; 0: no limit.");
  text.Gauge("gearstalkd_tubes_limit", limits.tubes, "Most tubes; 0: no limit.");
  text.Gauge("gearstalkd_connections_limit", server.most_connections,
             "Most connections, as configured or as descriptors allow.");
  text.Gauge("gearstalkd_connections_per_address_limit", server.connections_per_address_limit,
             "Most connections from one address; 0: no limit.");
  text.Gauge("gearstalkd_output_limit_bytes", server.output_limit,
             "What may wait for a client that does not read before its commands wait.");
  if (server.certificates.empty()) return;
  text.Gauge("gearstalkd_tls_certificate_end_timestamp_seconds",
             "End of each certificate that an option names, in seconds since 1970.");
  for (const CertificateFacts& each : server.certificates) {
    text.Add(each.end,
             {{"option", each.option}, {"subject", each.subject}, {"serial", each.serial}});
  }
}

void AddBodies(const BodyCounts& bodies, MetricText& text) {
  text.Gauge("gearstalkd_bodies",
             "Job bodies of 128 bytes or more, in memory or in the journal alone.");
  text.Add(bodies.in_memory, {{"where", "memory"}});
  text.Add(bodies.in_journal, {{"where", "journal"}});
  text.Gauge("gearstalkd_bodies_bytes", "Bytes of these bodies.");
  text.Add(bodies.memory_bytes, {{"where", "memory"}});
  text.Add(bodies.journal_bytes, {{"where", "journal"}});
  text.Gauge("gearstalkd_bodies_limit_bytes", bodies.limit,
             "Bytes of bodies in memory beyond which bodies leave it; 0: they never do.");
  text.Counter("gearstalkd_body_reads_total", bodies.reads, "Bodies read back from the journal.");
  text.Counter("gearstalkd_body_read_bytes_total", bodies.read_bytes, "Bytes of bodies read back.");
  text.Histogram("gearstalkd_body_read_seconds", bodies.read_times,
                 "How long bodies took from asking to having.");
  text.Counter("gearstalkd_body_waits_total", bodies.waits, "Replies that waited for a body.");
  text.Counter("gearstalkd_bodies_damaged_total", bodies.damaged,
               "Bodies that were found damaged.");
}

void AddDisk(const DiskSpace& disk, MetricText& text) {
  constexpr double kNotFilling = std::numeric_limits<double>::infinity();
  text.Gauge("gearstalkd_journal_filesystem_bytes", disk.total,
             "Size of the file system of the journal.");
  text.Gauge("gearstalkd_journal_free_bytes", disk.free,
             "Free bytes of the file system of the journal.");
  text.Gauge("gearstalkd_journal_free_limit_bytes", disk.limit,
             "Free bytes below which new jobs are refused; 0: only a full disk refuses.");
  text.Gauge("gearstalkd_journal_full_seconds",
             disk.full_in == kNever ? kNotFilling : Seconds(disk.full_in),
             "Until that limit is reached at the rate of the last ten minutes; +Inf: it is not.");
}

void AddVerified(const VerifyStats& verified, MetricText& text) {
  text.Counter("gearstalkd_journal_verified_bytes_total", verified.bytes,
               "Bytes read again to find damage.");
  text.Gauge("gearstalkd_journal_verify_left_bytes", verified.left_bytes,
             "Bytes that are still to be read again.");
  text.Gauge("gearstalkd_journal_verified_timestamp_seconds", Seconds(verified.ended),
             "When all had been read again, in seconds since 1970; 0: it has not.");
  text.Counter("gearstalkd_journal_damaged_records_total", verified.damaged,
               "Damage that was found so.");
}

void AddJournal(const JournalReports& journal, MetricText& text) {
  if (!journal.Persistent()) return;
  const JournalStats stats = journal.Stats();
  const SegmentStats segments = journal.Segments();
  text.Gauge("gearstalkd_journal_failed", stats.failed,
             "1 when the disk failed: a restart is needed.");
  text.Gauge("gearstalkd_journal_full", stats.full, "1 while the disk has no space for new jobs.");
  text.Counter("gearstalkd_journal_appended_records_total", stats.appends, "Records appended.");
  text.Counter("gearstalkd_journal_appended_bytes_total", stats.appended_bytes, "Bytes appended.");
  text.Counter("gearstalkd_journal_writes_total", stats.batches, "Writes to the disk.");
  text.Histogram("gearstalkd_journal_sync_seconds", stats.sync_times,
                 "How long syncs of the disk took.");
  text.Counter("gearstalkd_journal_compacted_records_total", segments.migrated,
               "Records carried forward out of old segments.");
  text.Counter("gearstalkd_journal_compacted_bytes_total", segments.migrated_bytes,
               "Bytes carried forward out of old segments.");
  text.Counter("gearstalkd_journal_released_segments_total", segments.released,
               "Segments that were no longer needed.");
  text.Gauge("gearstalkd_journal_segments", segments.count, "Segment files.");
  text.Gauge("gearstalkd_journal_disk_bytes", segments.stored_bytes,
             "Bytes of all segment files, and of frames that were set aside.");
  AddVerified(journal.Verified(), text);
  if (const DiskSpace disk = journal.Disk(); disk.total > 0) AddDisk(disk, text);
  text.Gauge("gearstalkd_journal_live_bytes", segments.live_bytes,
             "Bytes of records that still say something.");
  text.Gauge("gearstalkd_journal_waiting_bytes", journal.WaitingBytes(),
             "Bytes appended and not yet written.");
}

}  // namespace

std::uint64_t ResidentBytes() { return ReadMemory().resident; }

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void AddProcess(Time started, MetricText& text) {
  text.Gauge("process_start_time_seconds", Seconds(started),
             "Start of the process, in seconds since 1970.");
  text.Counter("process_cpu_seconds_total", CpuSeconds(), "CPU time of the process.");
  if (const Memory memory = ReadMemory(); memory.size > 0) {
    text.Gauge("process_virtual_memory_bytes", memory.size, "Virtual memory of the process.");
    text.Gauge("process_resident_memory_bytes", memory.resident, "Resident memory of the process.");
  }
  text.Gauge("process_open_fds", OpenDescriptors(), "Open descriptors.");
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    text.Gauge("process_max_fds", limit.rlim_cur, "Most descriptors that the process may open.");
  }
}

// Surveys all tubes, then writes the totals, then each family of the tubes that have a label.
HttpBody Metrics::Read(bool all_tubes) {
  const Engine& engine = sources_.engine;
  const Time now = sources_.now();
  const bool all = all_tubes || engine.Stats().tubes <= tubes_;
  TubeSurvey survey(engine, all ? 0 : tubes_, now, heat_);
  while (survey.Advance()) co_await NextSlice();
  heat_ = survey.heat();
  std::string piece;
  AddTotals(survey, now, piece);
  co_yield piece;
  HttpBody tubes = ReadTubes(engine, now, all ? std::nullopt : std::optional(survey.Busiest()));
  while (tubes.Advance()) co_yield *tubes.made().piece;
  co_return std::string();
}

void Metrics::AddTotals(const TubeSurvey& survey, Time now, std::string& out) const {
  MetricText text;
  const ServerFacts server = sources_.server();
  text.Gauge("gearstalkd_build_info", "1, with what this broker is.")
      .Add(1, {{"version", server.version}, {"commit", server.commit}});
  AddJobs(sources_.engine, text);
  AddSchedules(sources_.engine, text);
  text.Gauge("gearstalkd_oldest_ready_job_age_seconds", Seconds(now - survey.oldest_ready()),
             "Time since the put of the oldest ready job; 0 if none is ready.");
  AddCommands(sources_, text);
  AddConnections(sources_, server, text);
  AddRouters(server, text);
  AddRefused(sources_.engine.Stats(), server, text);
  AddBodies(sources_.engine.Stats().bodies, text);
  AddAttention(*sources_.attention.concerns(), text);
  AddLimits(sources_.engine.limits(), server, text);
  AddJournal(sources_.engine.journal(), text);
  AddReplica(sources_.engine, text);
  text.Histogram("gearstalkd_loop_lag_seconds", sources_.lag.lags(),
                 "How late the loop came to what was due, looked at ten times a second.");
  AddProcess(server.started, text);
  out += text.Take();
}

}  // namespace gearstalk
