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
    text.Gauge("gearstalkd_postgres_synchronous_standbys",
               "Standbys of PostgreSQL that confirm commits.")
        .Add(std::uint64_t{server.standbys.size()});
  }
  text.Gauge("gearstalkd_postgres_primaries",
             "Servers that say they are primary: with two, no broker takes over.")
      .Add(server.primaries);
}

void AddEndpoints(const ReplicaStats& replica, MetricText& text) {
  text.Gauge("gearstalkd_replica_endpoint",
             "1: the next call goes to this node of the store first.");
  for (const EndpointStats& each : replica.endpoints) {
    text.Add(std::uint64_t{each.in_use}, {{"endpoint", each.name}});
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
  text.Gauge("gearstalkd_replica_active", "1 while this broker serves.")
      .Add(std::uint64_t{engine.journal().MayServe()});
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
  text.Counter("gearstalkd_connections_accepted_total", "Connections since the start.")
      .Add(sources.connections.Total());
  text.Gauge("gearstalkd_connections_of_busiest_address",
             "Open connections of the address that has the most; Unix sockets have none.")
      .Add(server.connections_of_busiest_address);
  text.Gauge("gearstalkd_connections_stalled",
             "Open connections whose commands wait until what was answered has left.")
      .Add(server.stalled_connections);
  text.Counter("gearstalkd_log_lines_dropped_total",
               "Lines that were not logged because the log was not read fast enough.")
      .Add(server.dropped_log_lines);
  text.Counter("gearstalkd_output_stalls_total",
               "Times that a client's commands had to wait until it had read what was sent to it.")
      .Add(server.output_stalls);
  text.Counter("gearstalkd_received_bytes_total", "Bytes read from clients.")
      .Add(server.received_bytes);
  text.Counter("gearstalkd_sent_bytes_total", "Bytes sent to clients.").Add(server.sent_bytes);
}

// The end of a broker is the end of its loop, so the processes' CPU is told apart.
void AddRouters(const ServerFacts& server, MetricText& text) {
  std::uint64_t streams = 0, in = 0, out = 0;
  for (const RouterFacts& router : server.routers) {
    streams += router.streams;
    in += router.from_link_bytes;
    out += router.to_link_bytes;
  }
  text.Gauge("gearstalkd_routers", "Processes that hold the clients' sockets; 0: the broker does.")
      .Add(std::uint64_t{server.routers.size()});
  text.Counter("gearstalkd_router_restarts_total", "Routers that were started in another's place.")
      .Add(server.router_restarts);
  text.Gauge("gearstalkd_router_streams", "Clients whose sockets routers hold.").Add(streams);
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
    text.Add(std::uint64_t{concerns.Count(static_cast<Concern>(kind))},
             {{"kind", kConcernNames[kind]}});
  }
}

void AddLimits(const EngineLimits& limits, const ServerFacts& server, MetricText& text) {
  text.Gauge("gearstalkd_job_memory_limit_bytes",
             "Memory of all jobs at which new ones are refused; 0: no limit.")
      .Add(limits.memory);
  text.Gauge("gearstalkd_tubes_limit", "Most tubes; 0: no limit.").Add(std::uint64_t{limits.tubes});
  text.Gauge("gearstalkd_connections_limit",
             "Most connections, as configured or as descriptors allow.")
      .Add(server.most_connections);
  text.Gauge("gearstalkd_connections_per_address_limit",
             "Most connections from one address; 0: no limit.")
      .Add(server.connections_per_address_limit);
  text.Gauge("gearstalkd_output_limit_bytes",
             "What may wait for a client that does not read before its commands wait.")
      .Add(server.output_limit);
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
  text.Gauge("gearstalkd_bodies_limit_bytes",
             "Bytes of bodies in memory beyond which bodies leave it; 0: they never do.")
      .Add(bodies.limit);
  text.Counter("gearstalkd_body_reads_total", "Bodies read back from the journal.")
      .Add(bodies.reads);
  text.Counter("gearstalkd_body_read_bytes_total", "Bytes of bodies read back.")
      .Add(bodies.read_bytes);
  text.Histogram("gearstalkd_body_read_seconds", "How long bodies took from asking to having.")
      .Add(bodies.read_times);
  text.Counter("gearstalkd_body_waits_total", "Replies that waited for a body.").Add(bodies.waits);
  text.Counter("gearstalkd_bodies_damaged_total", "Bodies that were found damaged.")
      .Add(bodies.damaged);
}

void AddDisk(const DiskSpace& disk, MetricText& text) {
  constexpr double kNotFilling = std::numeric_limits<double>::infinity();
  text.Gauge("gearstalkd_journal_filesystem_bytes", "Size of the file system of the journal.")
      .Add(disk.total);
  text.Gauge("gearstalkd_journal_free_bytes", "Free bytes of the file system of the journal.")
      .Add(disk.free);
  text.Gauge("gearstalkd_journal_free_limit_bytes",
             "Free bytes below which new jobs are refused; 0: only a full disk refuses.")
      .Add(disk.limit);
  text.Gauge("gearstalkd_journal_full_seconds",
             "Until that limit is reached at the rate of the last ten minutes; +Inf: it is not.")
      .Add(disk.full_in == kNever ? kNotFilling : Seconds(disk.full_in));
}

void AddVerified(const VerifyStats& verified, MetricText& text) {
  text.Counter("gearstalkd_journal_verified_bytes_total", "Bytes read again to find damage.")
      .Add(verified.bytes);
  text.Gauge("gearstalkd_journal_verify_left_bytes", "Bytes that are still to be read again.")
      .Add(verified.left_bytes);
  text.Gauge("gearstalkd_journal_verified_timestamp_seconds",
             "When all had been read again, in seconds since 1970; 0: it has not.")
      .Add(Seconds(verified.ended));
  text.Counter("gearstalkd_journal_damaged_records_total", "Damage that was found so.")
      .Add(verified.damaged);
}

void AddJournal(const JournalReports& journal, MetricText& text) {
  if (!journal.Persistent()) return;
  const JournalStats stats = journal.Stats();
  const SegmentStats segments = journal.Segments();
  text.Gauge("gearstalkd_journal_failed", "1 when the disk failed: a restart is needed.")
      .Add(std::uint64_t{stats.failed});
  text.Gauge("gearstalkd_journal_full", "1 while the disk has no space for new jobs.")
      .Add(std::uint64_t{stats.full});
  text.Counter("gearstalkd_journal_appended_records_total", "Records appended.").Add(stats.appends);
  text.Counter("gearstalkd_journal_appended_bytes_total", "Bytes appended.")
      .Add(stats.appended_bytes);
  text.Counter("gearstalkd_journal_writes_total", "Writes to the disk.").Add(stats.batches);
  text.Histogram("gearstalkd_journal_sync_seconds", "How long syncs of the disk took.")
      .Add(stats.sync_times);
  text.Counter("gearstalkd_journal_compacted_records_total",
               "Records carried forward out of old segments.")
      .Add(segments.migrated);
  text.Counter("gearstalkd_journal_compacted_bytes_total",
               "Bytes carried forward out of old segments.")
      .Add(segments.migrated_bytes);
  text.Counter("gearstalkd_journal_released_segments_total", "Segments that were no longer needed.")
      .Add(segments.released);
  text.Gauge("gearstalkd_journal_segments", "Segment files.").Add(segments.count);
  text.Gauge("gearstalkd_journal_disk_bytes",
             "Bytes of all segment files, and of frames that were set aside.")
      .Add(segments.stored_bytes);
  AddVerified(journal.Verified(), text);
  if (const DiskSpace disk = journal.Disk(); disk.total > 0) AddDisk(disk, text);
  text.Gauge("gearstalkd_journal_live_bytes", "Bytes of records that still say something.")
      .Add(segments.live_bytes);
  text.Gauge("gearstalkd_journal_waiting_bytes", "Bytes appended and not yet written.")
      .Add(journal.WaitingBytes());
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
  text.Gauge("process_start_time_seconds", "Start of the process, in seconds since 1970.")
      .Add(Seconds(started));
  text.Counter("process_cpu_seconds_total", "CPU time of the process.").Add(CpuSeconds());
  if (const Memory memory = ReadMemory(); memory.size > 0) {
    text.Gauge("process_virtual_memory_bytes", "Virtual memory of the process.").Add(memory.size);
    text.Gauge("process_resident_memory_bytes", "Resident memory of the process.")
        .Add(memory.resident);
  }
  text.Gauge("process_open_fds", "Open descriptors.").Add(OpenDescriptors());
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    text.Gauge("process_max_fds", "Most descriptors that the process may open.")
        .Add(std::uint64_t{limit.rlim_cur});
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
  TubeMetrics tubes(engine, now, all ? std::nullopt : std::optional(survey.Busiest()));
  for (;;) {
    MetricText text;
    const bool more = tubes.Advance(text);
    piece = text.Take();
    if (!more) co_return piece;
    co_yield piece;
  }
}

void Metrics::AddTotals(const TubeSurvey& survey, Time now, std::string& out) const {
  MetricText text;
  const ServerFacts server = sources_.server();
  text.Gauge("gearstalkd_build_info", "1, with what this broker is.")
      .Add(std::uint64_t{1}, {{"version", server.version}, {"commit", server.commit}});
  AddJobs(sources_.engine, text);
  AddSchedules(sources_.engine, text);
  text.Gauge("gearstalkd_oldest_ready_job_age_seconds",
             "Time since the put of the oldest ready job; 0 if none is ready.")
      .Add(Seconds(now - survey.oldest_ready()));
  AddCommands(sources_, text);
  AddConnections(sources_, server, text);
  AddRouters(server, text);
  AddRefused(sources_.engine.Stats(), server, text);
  AddBodies(sources_.engine.Stats().bodies, text);
  AddAttention(*sources_.attention.concerns(), text);
  AddLimits(sources_.engine.limits(), server, text);
  AddJournal(sources_.engine.journal(), text);
  AddReplica(sources_.engine, text);
  text.Histogram("gearstalkd_loop_lag_seconds",
                 "How late the loop came to what was due, looked at ten times a second.")
      .Add(sources_.lag.lags());
  AddProcess(server.started, text);
  out += text.Take();
}

}  // namespace gearstalk
