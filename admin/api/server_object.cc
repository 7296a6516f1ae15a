#include "admin/api/server_object.h"

#include <unistd.h>

#include <algorithm>

#include "admin/api/history.h"
#include "admin/api/objects.h"
#include "admin/metrics/process_metrics.h"
#include "admin/metrics/refusals.h"
#include "broker/engine/slab.h"

namespace gearstalk::api {
namespace {

Json ConnectionCounts(const ServerFacts& facts, const EngineStats& stats,
                      const ConnectionList& connections) {
  Json object = {{"open", connections.Count()}, {"limit", facts.most_connections}};
  std::uint64_t undecided = connections.Count();
  for (const auto& [protocol, count] : facts.connections) {
    object[std::string(protocol)] = count;
    undecided -= std::min(undecided, count);
  }
  object.update({{"undecided", undecided},
                 {"producers", stats.producers},
                 {"workers", stats.workers},
                 {"waiting", stats.waiting},
                 {"stalled", facts.stalled_connections},
                 {"accepted_total", connections.Total()}});
  return object;
}

Json JournalObject(const Journal& journal, const ServerFacts& facts, const History& history) {
  const JournalStats stats = journal.Stats();
  const SegmentStats segments = journal.Segments();
  const DiskSpace disk = journal.Disk();
  const bool known = disk.total > 0;
  const bool fills = known && disk.full_in != kNever;
  return {{"sync", facts.sync},
          {"failed", stats.failed},
          {"full", stats.full},
          {"disk_bytes", segments.stored_bytes},
          {"live_bytes", segments.live_bytes},
          {"filesystem_bytes", known ? Json(disk.total) : Json()},
          {"free_bytes", known ? Json(disk.free) : Json()},
          {"free_limit_bytes", known ? Json(disk.limit) : Json()},
          {"low", disk.low},
          {"full_seconds", fills ? Json(Seconds(disk.full_in)) : Json()},
          {"segments", segments.count},
          {"waiting_bytes", journal.WaitingBytes()},
          {"sync_seconds_p99", history.SyncP99()}};
}

Json StoreObject(const StoreServer& server) {
  Json standbys;  // null: not known
  if (server.standbys_known) {
    standbys = Json::array();
    for (const std::string& name : server.standbys) standbys.push_back(TextOf(name));
  }
  return {{"kind", server.kind},
          {"version", TextOf(server.version)},
          {"primary", TextOf(server.primary)},
          {"synchronous_commit", server.synchronous_commit},
          {"fsync", server.fsync},
          {"full_page_writes", server.full_page_writes},
          {"synchronous_standby_names", TextOf(server.synchronous_standby_names)},
          {"synchronous_standbys", std::move(standbys)}};
}

Json ReplicaObject(const Journal& journal) {
  const ReplicaStats* const replica = journal.Replica();
  if (replica == nullptr) return {};
  const bool active = replica->role == ReplicaStats::Role::kActive;
  Json leader;
  if (replica->leader_known) {
    leader = {{"name", TextOf(replica->leader)}, {"address", TextOf(replica->leader_address)}};
  }
  Json object = {{"role", !active              ? "standby"
                          : replica->suspended ? "suspended"
                                               : "active"},
                 {"epoch", replica->epoch},
                 {"leader", std::move(leader)},
                 {"behind_batches", replica->behind_batches},
                 {"lease_left_seconds", active ? Json(Seconds(replica->lease_left)) : Json()},
                 {"takeovers_total", replica->takeovers}};
  if (replica->server) object["store"] = StoreObject(*replica->server);
  return object;
}

Json RefusedObject(const ServerFacts& facts, const EngineStats& stats) {
  Json object = Json::object();
  ForEachRefusal(stats, facts, [&](std::string_view word, std::uint64_t count) {
    object[std::string(word)] = count;
  });
  return object;
}

Json RoutersOf(const ServerFacts& facts) {
  Json list = Json::array();
  for (const RouterFacts& router : facts.routers) {
    list.push_back({{"name", "router-" + std::to_string(list.size())},
                    {"pid", router.process == 0 ? Json() : Json(router.process)},
                    {"connections", router.streams},
                    {"accepted_total", router.accepted},
                    {"handshakes_total", router.handshakes},
                    {"cpu_seconds_total", router.cpu_seconds},
                    {"received_bytes_total", router.received_bytes},
                    {"sent_bytes_total", router.sent_bytes}});
  }
  return list;
}

}  // namespace

Json ServerObject(const Services& services, Time now) {
  const Engine& engine = services.engine;
  const History& history = services.history;
  const ServerFacts facts = services.host.Facts();
  const EngineStats stats = engine.Stats();
  const std::string why = services.broker.WhyNotReady(false);
  const std::optional<double> oldest = history.OldestReadyAge(now);
  return {{"version", facts.version},
          {"commit", facts.commit},
          {"server_name", TextOf(facts.server_name)},
          {"pid", getpid()},
          {"started_at", Timestamp(facts.started)},
          {"now", Timestamp(now)},
          {"uptime_seconds", Seconds(now - facts.started)},
          {"listen", facts.listen},
          {"admin", facts.admin},
          {"ready", why.empty()},
          {"not_ready_reason", why.empty() ? Json() : Json(TextOf(why))},
          {"draining", engine.draining()},
          {"log_level", services.host.LogLevelName()},
          {"jobs", ObjectOf(StateCounts{stats.ready, stats.reserved, stats.delayed, stats.buried,
                                        stats.urgent})},
          {"counters", CountersOf(stats)},
          {"tubes", stats.tubes},
          {"connections", ConnectionCounts(facts, stats, services.connections)},
          {"memory",
           {{"job_bytes", JobMemory()},
            {"job_limit_bytes", engine.limits().memory},
            {"resident_bytes", ResidentBytes()}}},
          {"journal", JournalObject(engine.journal(), facts, history)},
          {"refused", RefusedObject(facts, stats)},
          {"oldest_ready_age_seconds", oldest ? Json(*oldest) : Json()},
          {"loop_lag_seconds_p99", history.LagP99()},
          {"received_bytes_total", facts.received_bytes},
          {"sent_bytes_total", facts.sent_bytes},
          {"cpu_seconds_total", facts.cpu_seconds},
          {"loop_cpu_seconds_total", facts.loop_cpu_seconds},
          {"routers", RoutersOf(facts)},
          {"router_restarts_total", facts.router_restarts},
          {"held_jobs", engine.transfers().held()},
          {"replica", ReplicaObject(engine.journal())}};
}

}  // namespace gearstalk::api
