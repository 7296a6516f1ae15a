#include "admin/api/objects.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string>

#include "admin/api/history.h"
#include "admin/metrics/job_metrics.h"
#include "admin/metrics/metrics.h"
#include "broker/engine/groups.h"
#include "broker/engine/slab.h"
#include "broker/engine/verdict.h"

namespace gearstalk::api {
namespace {

constexpr std::size_t kPreview = 200;  // bytes
constexpr std::size_t kWatchesShown = 20;

std::string_view SourceOf(const Engine& engine, std::string_view name, const MaxQueue& limits) {
  if (limits != engine.ConfiguredMaxQueue(name)) return "admin";
  return limits == MaxQueue{} ? "none" : "config";
}

Json MaxQueueObject(const Engine& engine, std::string_view name, const MaxQueue& limits) {
  return {{"high", limits[0]},
          {"normal", limits[1]},
          {"low", limits[2]},
          {"source", SourceOf(engine, name, limits)}};
}

// Both sessions are consumers and know their peers.
const Session* SessionOf(const Consumer* consumer) {
  return dynamic_cast<const Session*>(consumer);
}

Json HolderObject(const Job& job) {
  const Session* const session = SessionOf(job.holder());
  const Peer* const peer = session == nullptr ? nullptr : session->Client();
  if (peer == nullptr) return {};
  return {{"connection", peer->id},
          {"address", peer->address},
          {"client_id", TextOrNull(session->ClientId())}};
}

Json ProgressObject(const JobRest& rest) {
  if (rest.numerator == 0 && rest.denominator == 0) return {};
  return {{"numerator", rest.numerator}, {"denominator", rest.denominator}};
}

Json RolesOf(const Consumer* consumer) {
  Json roles = Json::array();
  if (consumer == nullptr) return roles;
  if (consumer->producer()) roles.push_back("producer");
  if (consumer->worker()) roles.push_back("worker");
  return roles;
}

std::string_view OnFailureOf(const Job& job) {
  switch (FateOfFailed(job)) {
    case Verdict::Fate::kMoved:
      return "move";
    case Verdict::Fate::kBuried:
      return "bury";
    default:
      return "remove";
  }
}

Json WatchesOf(const Consumer* consumer) {
  Json names = Json::array();
  if (consumer == nullptr) return names;
  for (const auto& watch : consumer->watched()) {
    if (names.size() == kWatchesShown) break;
    names.push_back(TextOf(watch->tube.name()));
  }
  return names;
}

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
          {"filesystem_bytes", OrNull(known, disk.total)},
          {"free_bytes", OrNull(known, disk.free)},
          {"free_limit_bytes", OrNull(known, disk.limit)},
          {"low", disk.low},
          {"full_seconds", OrNull(fills, Seconds(disk.full_in))},
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
                 {"lease_left_seconds", OrNull(active, Seconds(replica->lease_left))},
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
                    {"pid", OrNull(router.process != 0, router.process)},
                    {"connections", router.streams},
                    {"accepted_total", router.accepted},
                    {"handshakes_total", router.handshakes},
                    {"cpu_seconds_total", router.cpu_seconds},
                    {"received_bytes_total", router.received_bytes},
                    {"sent_bytes_total", router.sent_bytes}});
  }
  return list;
}

std::string_view NameOf(Band band) {
  constexpr std::string_view kBandNames[] = {"high", "normal", "low"};
  return kBandNames[static_cast<std::size_t>(band)];
}

struct StateCounts {
  std::size_t ready, reserved, delayed, buried, urgent;
};
Json ObjectOf(const StateCounts& jobs) {
  return {{"ready", jobs.ready},
          {"reserved", jobs.reserved},
          {"delayed", jobs.delayed},
          {"buried", jobs.buried},
          {"urgent", jobs.urgent}};
}

Groups::Counts CountsOfGroups(const Tube* tube) {
  return tube == nullptr || tube->groups() == nullptr ? Groups::Counts{} : tube->groups()->counts();
}

Json AgeOfOldestReady(const Tube* tube, Time now) {
  const auto age = tube == nullptr ? std::nullopt : OldestReadyAge(*tube, now);
  return age ? Json(*age) : Json();
}

template <typename Counted>
Json CountersOf(const Counted& counted) {
  Json object = Json::object();
  for (const JobCounter& counter : JobCounters()) {
    object[std::string(counter.short_name())] = counter.Of(counted);
  }
  return object;
}

}  // namespace

Json TubeObject(const Engine& engine, std::string_view name, const Tube* tube, Time now) {
  const bool there = tube != nullptr, paused = there && tube->paused();
  const Groups::Counts groups = CountsOfGroups(tube);
  const auto count = [tube](auto number) {
    return tube == nullptr ? 0 : std::invoke(number, *tube);
  };
  const MaxQueue& limits = there ? tube->settings.max_queue : engine.ConfiguredMaxQueue(name);
  return {{"name", TextOf(name)},
          {"ref", RefOf(name)},
          {"id", there ? Json(tube->id()) : Json()},
          {"jobs",
           ObjectOf(StateCounts{count(&Tube::ready), count(&Tube::reserved), count(&Tube::delayed),
                                count(&Tube::buried), count(&Tube::urgent)})},
          {"counters", there ? CountersOf(*tube) : CountersOf(EngineStats())},
          {"oldest_ready_age_seconds", AgeOfOldestReady(tube, now)},
          {"workers", count(&Tube::workers)},
          {"using", count(&Tube::using_count)},
          {"watching", count(&Tube::watching)},
          {"waiting", there ? engine.Waiting(*tube) : 0},
          {"paused", paused},
          {"pause_seconds", paused ? Json(tube->settings.pause_s) : Json()},
          {"pause_left_seconds", paused ? Json(Seconds(engine.PauseLeft(now, *tube))) : Json()},
          {"pauses_total", there ? tube->pauses : 0},
          {"maxqueue", MaxQueueObject(engine, name, limits)},
          {"created_function", there && tube->settings.created_function},
          {"retrying", there ? tube->policy_state().retrying : 0},
          {"held_back",
           there && tube->held_back != HeldBack::kNone ? Json(NameOf(tube->held_back)) : Json()},
          {"groups", groups.groups},
          {"groups_held_back", groups.held_back},
          {"jobs_without_group", groups.without}};
}

Json JobObject(const Engine& engine, const Job& job, Time now, bool preview) {
  const JobExtra& extra = job.extra();
  const bool delayed = job.state() == JobState::kDelayed;
  const bool reserved = job.state() == JobState::kReserved;
  const Time left = engine.TimeLeft(now, job);
  const Policy* const policy = job.tube().policy();
  const bool concerned = policy != nullptr || !job.origin().empty();
  const std::uint32_t most = policy == nullptr ? 0 : policy->attempts;
  const Time expires = job.state() == JobState::kBuried ? kNever : job.rest().expiry.time;
  const std::string_view cause = CauseOf(job);
  const Time taken = job.taken_at();
  const bool shown = preview && job.has_body();
  return {{"id", job.id()},
          {"tube", TextOf(job.tube().name())},
          {"tube_ref", RefOf(job.tube().name())},
          {"state", NameOf(job.state())},
          {"priority", job.priority},
          {"class", NameOf(engine.BandOf(job.priority))},
          {"size_bytes", job.body_size()},
          {"created_at", Timestamp(job.created)},
          {"age_seconds", Age(now, job.created)},
          {"delay_seconds", job.delay_s},
          {"ttr_seconds", OrNull(job.ttr_s != 0, job.ttr_s)},
          {"due_in_seconds", OrNull(delayed, Seconds(left))},
          {"ttr_left_seconds", OrNull(reserved && left > 0, Seconds(left))},
          {"reserved_at", TimeOrNull(taken)},
          {"running_seconds", OrNull(taken != 0, Age(now, taken))},
          {"reserves", job.reserves},
          {"timeouts", extra.timeouts},
          {"releases", extra.releases},
          {"buries", extra.buries},
          {"kicks", extra.kicks},
          {"lost_tries", job.rest().lost_tries},
          {"unique", TextOrNull(job.unique())},
          {"group", TextOrNull(GroupNameOf(job))},
          {"waiters", job.rest().waiters.size()},
          {"durable", job.durable},
          {"on_failure", OnFailureOf(job)},
          {"holder", HolderObject(job)},
          {"progress", ProgressObject(job.rest())},
          {"preview", shown ? Json(TextOf(job.body().substr(0, kPreview))) : Json()},
          {"body_in_memory", job.has_body()},
          {"attempts", OrNull(concerned, extra.attempts)},
          {"max_attempts", OrNull(most != 0, most)},
          {"expires_in_seconds", OrNull(expires != kNever, Age(expires, now))},
          {"cause", TextOrNull(cause)},
          {"failed_at", TimeOrNull(Failed(job) ? extra.ended : 0)},
          {"cause_text", job.texts() == nullptr ? Json() : TextOrNull(job.texts()->cause_text)},
          {"origin", TextOrNull(job.origin())}};
}

Json ConnectionObject(const ConnectionList::Entry& entry, Time now) {
  const Peer& peer = *entry.peer;
  const Session* const session = entry.session;
  const auto* const consumer = dynamic_cast<const Consumer*>(session);
  const Tube* const used = consumer == nullptr ? nullptr : consumer->used();
  return {{"id", peer.id},
          {"protocol", TextOrNull(entry.protocol)},
          {"address", peer.address},
          {"listen", peer.bound},
          {"tls", peer.tls},
          {"certificate", TextOrNull(peer.certificate)},
          {"client_id", TextOrNull(session == nullptr ? "" : session->ClientId())},
          {"roles", RolesOf(consumer)},
          {"waiting", consumer != nullptr && consumer->waiting()},
          {"uses", used == nullptr ? Json() : Json(TextOf(used->name()))},
          {"watches", WatchesOf(consumer)},
          {"watches_total", consumer == nullptr ? 0 : consumer->watched().size()},
          {"holds", consumer == nullptr ? 0 : consumer->held()},
          {"connected_at", Timestamp(peer.connected_at)},
          {"idle_seconds", Age(now, entry.active_at)}};
}

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
          {"not_ready_reason", TextOrNull(why)},
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
            {"bodies_bytes", stats.bodies.memory_bytes},
            {"bodies_limit_bytes", stats.bodies.limit},
            {"bodies_in_journal", stats.bodies.in_journal},
            {"bodies_in_journal_bytes", stats.bodies.journal_bytes},
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
