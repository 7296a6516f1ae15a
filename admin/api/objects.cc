#include "admin/api/objects.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "admin/api/history.h"
#include "admin/metrics/job_metrics.h"
#include "admin/metrics/metrics.h"
#include "admin/metrics/tube_metrics.h"
#include "broker/engine/groups.h"
#include "broker/engine/slab.h"
#include "broker/engine/verdict.h"

namespace gearstalk::api {
namespace {

// A member of an object that answers have: what it is called, what /openapi.json says of it (a type
// as in openapi.cc, and what the name does not say), and its value of what the object is made of.
template <typename Of>
struct Member {
  template <typename Value>
  constexpr Member(std::string_view called, std::string_view is, Value, std::string_view says = {})
      : name(called),
        type(is),
        means(says),
        value([](const Of& of) -> Json { return Value()(of); }) {}

  std::string_view name, type, means;
  Json (*value)(const Of& of);
};

template <typename Of, std::size_t kCount>
Json MakeObject(const Member<Of> (&members)[kCount], const std::type_identity_t<Of>& of) {
  Json object = Json::object();
  auto& made = object.template get_ref<Json::object_t&>();
  made.reserve(kCount);
  // No name is there twice, so none is looked for.
  for (const Member<Of>& member : members) {
    Json value = member.value(of);
    const bool left_out = value.is_null() && member.type.ends_with('~');
    if (!left_out) made.emplace_back(std::string(member.name), std::move(value));
  }
  return object;
}

constexpr std::size_t kPreview = 200;  // bytes
constexpr std::size_t kWatchesShown = 20;

std::string_view NameOf(Band band) {
  constexpr std::string_view kBandNames[] = {"high", "normal", "low"};
  return kBandNames[static_cast<std::size_t>(band)];
}

// --- Jobs by state

struct StateCounts {
  std::size_t ready, reserved, delayed, buried, urgent;
};
constexpr Member<StateCounts> kStateCounts[] = {
    {"ready", "integer", [](auto& of) { return of.ready; }},
    {"reserved", "integer", [](auto& of) { return of.reserved; }},
    {"delayed", "integer", [](auto& of) { return of.delayed; }},
    {"buried", "integer", [](auto& of) { return of.buried; }},
    {"urgent", "integer", [](auto& of) { return of.urgent; },
     "Ready jobs of a priority below 1024"},
};

template <typename Counted>
Json CountersOf(const Counted& counted) {
  Json object = Json::object();
  for (const JobCounter& counter : JobCounters()) {
    object[std::string(counter.short_name())] = counter.Of(counted);
  }
  return object;
}

// --- A tube

struct TubeView {
  const Engine& engine;
  std::string_view name;
  const Tube* tube;
  Time now;

  bool paused() const { return tube != nullptr && tube->paused(); }
  MaxQueue limits() const {
    return tube == nullptr ? engine.ConfiguredMaxQueue(name) : tube->settings.max_queue;
  }
  // What `number` is of the tube; 0: it is not there.
  template <typename Number>
  auto Count(Number number) const {
    using Value = std::decay_t<std::invoke_result_t<Number, const Tube&>>;
    return tube == nullptr ? Value() : Value(std::invoke(number, *tube));
  }
};

std::string_view SourceOf(const TubeView& of) {
  if (of.limits() != of.engine.ConfiguredMaxQueue(of.name)) return "admin";
  return of.limits() == MaxQueue{} ? "none" : "config";
}

constexpr Member<TubeView> kTubeLimits[] = {
    {"high", "integer", [](auto& of) { return of.limits()[0]; }},
    {"normal", "integer", [](auto& of) { return of.limits()[1]; }},
    {"low", "integer", [](auto& of) { return of.limits()[2]; }},
    {"source", "text", [](auto& of) { return SourceOf(of); }, "none, config or admin"},
};

constexpr Member<TubeView> kTube[] = {
    {"name", "text", [](auto& of) { return TextOf(of.name); }},
    {"ref", "text", [](auto& of) { return RefOf(of.name); }, "The name as it stands in paths"},
    {"id", "integer?", [](auto& of) { return OrNull(of.tube != nullptr, of.Count(&Tube::id)); }},
    {"jobs", "Jobs",
     [](auto& of) {
       return MakeObject(kStateCounts, {of.Count(&Tube::ready), of.Count(&Tube::reserved),
                                        of.Count(&Tube::delayed), of.Count(&Tube::buried),
                                        of.Count(&Tube::urgent)});
     }},
    {"counters", "Counters",
     [](auto& of) {
       return of.tube == nullptr ? CountersOf(EngineStats()) : CountersOf(*of.tube);
     }},
    {"oldest_ready_age_seconds", "number?",
     [](auto& of) {
       return of.tube == nullptr ? Json() : OrNull(OldestReadyAge(*of.tube, of.now));
     }},
    {"using", "integer", [](auto& of) { return of.Count(&Tube::using_count); },
     "Connections that use it"},
    {"watching", "integer", [](auto& of) { return of.Count(&Tube::watching); },
     "Connections that watch it"},
    {"waiting", "integer",
     [](auto& of) { return of.tube == nullptr ? 0 : of.engine.Waiting(*of.tube); },
     "Consumers that wait for a job of it"},
    {"paused", "truth", [](auto& of) { return of.paused(); }},
    {"pause_seconds", "number?",
     [](auto& of) { return of.paused() ? Json(of.tube->settings.pause_s) : Json(); }},
    {"pause_left_seconds", "number?",
     [](auto& of) {
       return of.paused() ? Json(Seconds(of.engine.PauseLeft(of.now, *of.tube))) : Json();
     }},
    {"pauses_total", "integer", [](auto& of) { return of.Count(&Tube::pauses); }},
    {"maxqueue", "TubeLimits", [](auto& of) { return MakeObject(kTubeLimits, of); }},
    {"created_function", "truth",
     [](auto& of) { return of.tube != nullptr && of.tube->settings.created_function; },
     "Stays without jobs and clients: Gearman's create function"},
    {"held_back", "text?",
     [](auto& of) {
       const HeldBack why = of.Count(&Tube::held_back);
       return OrNull(why != HeldBack::kNone, NameOf(why));
     },
     "Why it hands out nothing though it has ready jobs: running or rate"},
};

// --- A group of a tube

struct GroupView {
  const GroupRow& row;
  Time now;
};
constexpr Member<GroupView> kGroup[] = {
    {"name", "text?", [](auto& of) { return TextOrNull(of.row.name); },
     "null: the jobs without a group"},
    {"ready", "integer", [](auto& of) { return of.row.ready; }},
    {"reserved", "integer", [](auto& of) { return of.row.reserved; }},
    {"delayed", "integer", [](auto& of) { return of.row.delayed; }},
    {"handed_out", "integer", [](auto& of) { return of.row.handed_out; },
     "Since it was last without jobs, or since the start"},
    {"oldest_ready_age_seconds", "number?",
     [](auto& of) { return OrNull(of.row.oldest != kNever, Age(of.now, of.row.oldest)); }},
    {"held_back", "text?",
     [](auto& of) { return OrNull(of.row.held != GroupHeld::kNone, NameOf(of.row.held)); },
     "failed, fifo, running or rate"},
};

// --- A job

struct JobView {
  const Engine& engine;
  const Job& job;
  Time now;
  bool preview;

  const JobExtra& extra() const { return job.extra(); }
  // Seconds to the next change that time makes, in this state.
  Json LeftIn(JobState state) const {
    const Time left = engine.TimeLeft(now, job);
    return OrNull(job.state() == state && (left > 0 || state == JobState::kDelayed), Seconds(left));
  }
  const Policy* policy() const { return job.tube().policy(); }
  Time expires() const {
    return job.state() == JobState::kBuried ? kNever : job.rest().expiry.time;
  }
};

// Both sessions are consumers and know their peers.
const Session* SessionOf(const Consumer* consumer) {
  return dynamic_cast<const Session*>(consumer);
}

constexpr Member<Session> kHolder[] = {
    {"connection", "integer", [](auto& of) { return of.Client()->id; }},
    {"address", "text", [](auto& of) { return of.Client()->address; }},
    {"client_id", "text?", [](auto& of) { return TextOrNull(of.ClientId()); }},
};
Json HolderOf(const Job& job) {
  const Session* const session = SessionOf(job.holder());
  const bool known = session != nullptr && session->Client() != nullptr;
  return known ? MakeObject(kHolder, *session) : Json();
}

constexpr Member<JobRest> kProgress[] = {
    {"numerator", "integer", [](auto& of) { return of.numerator; }},
    {"denominator", "integer", [](auto& of) { return of.denominator; }},
};
Json ProgressOf(const JobRest& rest) {
  const bool none = rest.numerator == 0 && rest.denominator == 0;
  return none ? Json() : MakeObject(kProgress, rest);
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

constexpr Member<JobView> kJob[] = {
    {"id", "integer", [](auto& of) { return of.job.id(); }},
    {"tube", "text", [](auto& of) { return TextOf(of.job.tube().name()); }},
    {"tube_ref", "text", [](auto& of) { return RefOf(of.job.tube().name()); },
     "The tube's name as it stands in paths"},
    {"state", "text", [](auto& of) { return NameOf(of.job.state()); }},
    {"priority", "integer", [](auto& of) { return of.job.priority; }, "0 is the most urgent"},
    {"class", "text", [](auto& of) { return NameOf(of.engine.BandOf(of.job.priority)); },
     "Gearman's word for the priority: high, normal or low"},
    {"size_bytes", "integer", [](auto& of) { return of.job.body_size(); }},
    {"created_at", "time", [](auto& of) { return Timestamp(of.job.created); }},
    {"age_seconds", "number", [](auto& of) { return Age(of.now, of.job.created); }},
    {"delay_seconds", "number", [](auto& of) { return of.job.delay_s; },
     "As it was put or released with"},
    {"ttr_seconds", "number?", [](auto& of) { return OrNull(of.job.ttr_s != 0, of.job.ttr_s); },
     "Time to run; null: no limit"},
    {"due_in_seconds", "number?", [](auto& of) { return of.LeftIn(JobState::kDelayed); }},
    {"ttr_left_seconds", "number?", [](auto& of) { return of.LeftIn(JobState::kReserved); }},
    {"reserved_at", "time?", [](auto& of) { return TimeOrNull(of.job.taken_at()); }},
    {"running_seconds", "number?",
     [](auto& of) { return OrNull(of.job.taken_at() != 0, Age(of.now, of.job.taken_at())); }},
    {"reserves", "integer", [](auto& of) { return of.job.reserves; }},
    {"timeouts", "integer", [](auto& of) { return of.extra().timeouts; }},
    {"releases", "integer", [](auto& of) { return of.extra().releases; }},
    {"buries", "integer", [](auto& of) { return of.extra().buries; }},
    {"kicks", "integer", [](auto& of) { return of.extra().kicks; }},
    {"lost_tries", "integer", [](auto& of) { return of.job.rest().lost_tries; },
     "Workers that went away with it"},
    {"unique", "text?", [](auto& of) { return TextOrNull(of.job.unique()); }},
    {"group", "text?", [](auto& of) { return TextOrNull(GroupNameOf(of.job)); }},
    {"waiters", "integer", [](auto& of) { return of.job.rest().waiters.size(); },
     "Clients that wait for its result"},
    {"durable", "truth", [](auto& of) { return of.job.durable; }, "Whether the journal has it"},
    {"on_failure", "text", [](auto& of) { return OnFailureOf(of.job); },
     "What becomes of it when it fails for good: bury, remove or move"},
    {"holder", "Holder?", [](auto& of) { return HolderOf(of.job); }},
    {"progress", "Progress?", [](auto& of) { return ProgressOf(of.job.rest()); }},
    {"preview", "text?",
     [](auto& of) {
       const bool shown = of.preview && of.job.has_body();
       return shown ? Json(TextOf(of.job.body().substr(0, kPreview))) : Json();
     },
     "The first bytes of the body, if they were asked for and are in memory"},
    {"body_in_memory", "truth", [](auto& of) { return of.job.has_body(); }},
    {"attempts", "integer?",
     [](auto& of) {
       const bool concerned = of.policy() != nullptr || !of.job.origin().empty();
       return OrNull(concerned, of.extra().attempts);
     },
     "That ended badly; null: no policy counts them"},
    {"max_attempts", "integer?",
     [](auto& of) {
       const std::uint32_t most = of.policy() == nullptr ? 0 : of.policy()->attempts;
       return OrNull(most != 0, most);
     }},
    {"expires_in_seconds", "number?",
     [](auto& of) { return OrNull(of.expires() != kNever, Age(of.expires(), of.now)); }},
    {"cause", "text?", [](auto& of) { return TextOrNull(CauseOf(of.job)); }, "Of its last failure"},
    {"failed_at", "time?",
     [](auto& of) { return TimeOrNull(Failed(of.job) ? of.extra().ended : 0); }},
    {"cause_text", "text?",
     [](auto& of) {
       return of.job.texts() == nullptr ? Json() : TextOrNull(of.job.texts()->cause_text);
     },
     "What its worker said of that failure"},
    {"origin", "text?", [](auto& of) { return TextOrNull(of.job.origin()); },
     "The tube that it was moved to a dead tube from"},
};

// --- A connection

struct ConnectionView {
  const ConnectionList::Entry& entry;
  Time now;
  const Consumer* consumer = dynamic_cast<const Consumer*>(entry.session);

  const Peer& peer() const { return *entry.peer; }
};

Json RolesOf(const Consumer* consumer) {
  Json roles = Json::array();
  if (consumer == nullptr) return roles;
  if (consumer->producer()) roles.push_back("producer");
  if (consumer->worker()) roles.push_back("worker");
  return roles;
}

Json UsedBy(const Consumer* consumer) {
  const Tube* const used = consumer == nullptr ? nullptr : consumer->used();
  return used == nullptr ? Json() : Json(TextOf(used->name()));
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

constexpr Member<ConnectionView> kConnection[] = {
    {"id", "integer", [](auto& of) { return of.peer().id; }},
    {"protocol", "text?", [](auto& of) { return TextOrNull(of.entry.protocol); },
     "null: it has sent nothing"},
    {"address", "text", [](auto& of) { return of.peer().address; }},
    {"listen", "text", [](auto& of) { return of.peer().bound; }, "The address that it came to"},
    {"tls", "truth", [](auto& of) { return of.peer().tls; }},
    {"certificate", "text?", [](auto& of) { return TextOrNull(of.peer().certificate); },
     "The subject of the client's"},
    {"client_id", "text?",
     [](auto& of) {
       return TextOrNull(of.entry.session == nullptr ? "" : of.entry.session->ClientId());
     }},
    {"roles", "*text", [](auto& of) { return RolesOf(of.consumer); }, "producer, worker"},
    {"waiting", "truth", [](auto& of) { return of.consumer != nullptr && of.consumer->waiting(); }},
    {"uses", "text?", [](auto& of) { return UsedBy(of.consumer); }},
    {"watches", "*text", [](auto& of) { return WatchesOf(of.consumer); },
     "The first of the tubes, or functions, that it takes jobs of"},
    {"watches_total", "integer",
     [](auto& of) { return of.consumer == nullptr ? 0 : of.consumer->watched().size(); }},
    {"holds", "integer", [](auto& of) { return of.consumer == nullptr ? 0 : of.consumer->held(); },
     "Jobs that it has reserved"},
    {"connected_at", "time", [](auto& of) { return Timestamp(of.peer().connected_at); }},
    {"idle_seconds", "number", [](auto& of) { return Age(of.now, of.entry.active_at); }},
};

// --- The server

struct ServerView {
  const Services& services;
  Time now;
  const ServerFacts facts = services.host.Facts();
  const EngineStats stats = services.engine.Stats();
  const std::string not_ready = services.broker.WhyNotReady(false);
  const SegmentStats segments = services.engine.journal().Segments();
  const DiskSpace disk = services.engine.journal().Disk();

  const Engine& engine() const { return services.engine; }
  const JournalReports& journal() const { return services.engine.journal(); }
  Json OfDisk(std::uint64_t bytes) const { return OrNull(disk.total > 0, bytes); }
  std::uint64_t Speaking(std::string_view protocol) const {
    for (const auto& [name, count] : facts.connections) {
      if (name == protocol) return count;
    }
    return 0;
  }
};

constexpr Member<ServerView> kConnections[] = {
    {"open", "integer", [](auto& of) { return of.services.connections.Count(); }},
    {"limit", "integer", [](auto& of) { return of.facts.most_connections; }},
    {"beanstalk", "integer", [](auto& of) { return of.Speaking("beanstalk"); }},
    {"gearman", "integer", [](auto& of) { return of.Speaking("gearman"); }},
    {"undecided", "integer",
     [](auto& of) {
       std::uint64_t undecided = of.services.connections.Count();
       for (const auto& [protocol, count] : of.facts.connections) {
         undecided -= std::min(undecided, count);
       }
       return undecided;
     },
     "Those that have sent nothing"},
    {"producers", "integer", [](auto& of) { return of.stats.producers; }},
    {"workers", "integer", [](auto& of) { return of.stats.workers; }},
    {"waiting", "integer", [](auto& of) { return of.stats.waiting; }},
    {"stalled", "integer", [](auto& of) { return of.facts.stalled_connections; },
     "Those that do not read what is sent to them"},
    {"accepted_total", "integer", [](auto& of) { return of.services.connections.Total(); }},
};

constexpr Member<ServerView> kMemory[] = {
    {"job_bytes", "integer", [](auto&) { return JobMemory(); }},
    {"job_limit_bytes", "integer", [](auto& of) { return of.engine().limits().memory; },
     "0: no limit"},
    {"bodies_bytes", "integer", [](auto& of) { return of.stats.bodies.memory_bytes; }},
    {"bodies_limit_bytes", "integer", [](auto& of) { return of.stats.bodies.limit; }},
    {"bodies_in_journal", "integer", [](auto& of) { return of.stats.bodies.in_journal; },
     "Jobs whose bodies are there alone"},
    {"bodies_in_journal_bytes", "integer", [](auto& of) { return of.stats.bodies.journal_bytes; }},
    {"resident_bytes", "integer", [](auto&) { return ResidentBytes(); }},
};

constexpr Member<ServerView> kJournal[] = {
    {"sync", "text", [](auto& of) { return of.facts.sync; }},
    {"failed", "truth", [](auto& of) { return of.journal().Stats().failed; },
     "It can no longer be written to"},
    {"full", "truth", [](auto& of) { return of.journal().Stats().full; }},
    {"disk_bytes", "integer", [](auto& of) { return of.segments.stored_bytes; }},
    {"live_bytes", "integer", [](auto& of) { return of.segments.live_bytes; },
     "Of records that are still needed"},
    {"filesystem_bytes", "integer?", [](auto& of) { return of.OfDisk(of.disk.total); }},
    {"free_bytes", "integer?", [](auto& of) { return of.OfDisk(of.disk.free); }},
    {"free_limit_bytes", "integer?", [](auto& of) { return of.OfDisk(of.disk.limit); },
     "With less, no new job is stored"},
    {"low", "truth", [](auto& of) { return of.disk.low; }},
    {"full_seconds", "number?",
     [](auto& of) {
       const bool fills = of.disk.total > 0 && of.disk.full_in != kNever;
       return OrNull(fills, Seconds(of.disk.full_in));
     },
     "Until then, if it goes on as in the last minutes"},
    {"segments", "integer", [](auto& of) { return of.segments.count; }},
    {"waiting_bytes", "integer", [](auto& of) { return of.journal().WaitingBytes(); },
     "Not durable yet"},
    {"sync_seconds_p99", "number?", [](auto& of) { return of.services.history.SyncP99(); }},
};

constexpr Member<ReplicaStats> kLeader[] = {
    {"name", "text", [](auto& of) { return TextOf(of.leader); }},
    {"address", "text", [](auto& of) { return TextOf(of.leader_address); }},
};

constexpr Member<StoreServer> kStore[] = {
    {"kind", "text", [](auto& of) { return of.kind; }},
    {"version", "text", [](auto& of) { return TextOf(of.version); }},
    {"primary", "text", [](auto& of) { return TextOf(of.primary); }},
    {"synchronous_commit", "text", [](auto& of) { return of.synchronous_commit; }},
    {"fsync", "text", [](auto& of) { return of.fsync; }},
    {"full_page_writes", "text", [](auto& of) { return of.full_page_writes; }},
    {"synchronous_standby_names", "text",
     [](auto& of) { return TextOf(of.synchronous_standby_names); }},
    {"synchronous_standbys", "*text?",
     [](auto& of) {
       if (!of.standbys_known) return Json();
       Json standbys = Json::array();
       for (const std::string& name : of.standbys) standbys.push_back(TextOf(name));
       return standbys;
     },
     "null: not known"},
};

bool Active(const ReplicaStats& of) { return of.role == ReplicaStats::Role::kActive; }

constexpr Member<ReplicaStats> kReplica[] = {
    {"role", "text",
     [](auto& of) { return !Active(of)    ? "standby"
                           : of.suspended ? "suspended"
                                          : "active"; },
     "active, suspended or standby"},
    {"epoch", "integer", [](auto& of) { return of.epoch; }},
    {"leader", "Leader?",
     [](auto& of) { return of.leader_known ? MakeObject(kLeader, of) : Json(); }},
    {"behind_batches", "integer", [](auto& of) { return of.behind_batches; }},
    {"lease_left_seconds", "number?",
     [](auto& of) { return OrNull(Active(of), Seconds(of.lease_left)); }},
    {"takeovers_total", "integer", [](auto& of) { return of.takeovers; }},
    {"store", "Store~",
     [](auto& of) { return of.server ? MakeObject(kStore, *of.server) : Json(); }},
};

struct RouterView {
  const RouterFacts& facts;
  std::size_t place;  // among all routers
};
constexpr Member<RouterView> kRouter[] = {
    {"name", "text", [](auto& of) { return "router-" + std::to_string(of.place); }},
    {"pid", "integer?", [](auto& of) { return OrNull(of.facts.process != 0, of.facts.process); },
     "null: it waits to be started again"},
    {"connections", "integer", [](auto& of) { return of.facts.streams; }},
    {"accepted_total", "integer", [](auto& of) { return of.facts.accepted; }},
    {"handshakes_total", "integer", [](auto& of) { return of.facts.handshakes; }},
    {"cpu_seconds_total", "number", [](auto& of) { return of.facts.cpu_seconds; }},
    {"received_bytes_total", "integer", [](auto& of) { return of.facts.received_bytes; }},
    {"sent_bytes_total", "integer", [](auto& of) { return of.facts.sent_bytes; }},
};

Json RoutersOf(const ServerFacts& facts) {
  Json list = Json::array();
  for (const RouterFacts& router : facts.routers) {
    list.push_back(MakeObject(kRouter, {router, list.size()}));
  }
  return list;
}

Json RefusedOf(const ServerView& of) {
  Json object = Json::object();
  ForEachRefusal(of.stats, of.facts, [&](std::string_view word, std::uint64_t count) {
    object[std::string(word)] = count;
  });
  return object;
}

constexpr Member<ServerView> kServer[] = {
    {"version", "text", [](auto& of) { return of.facts.version; }},
    {"commit", "text", [](auto& of) { return of.facts.commit; }},
    {"server_name", "text", [](auto& of) { return TextOf(of.facts.server_name); }},
    {"pid", "integer", [](auto&) { return getpid(); }},
    {"started_at", "time", [](auto& of) { return Timestamp(of.facts.started); }},
    {"now", "time", [](auto& of) { return Timestamp(of.now); }},
    {"uptime_seconds", "number", [](auto& of) { return Seconds(of.now - of.facts.started); }},
    {"listen", "*text", [](auto& of) { return of.facts.listen; }},
    {"admin", "*text", [](auto& of) { return of.facts.admin; }},
    {"ready", "truth", [](auto& of) { return of.not_ready.empty(); }},
    {"not_ready_reason", "text?", [](auto& of) { return TextOrNull(of.not_ready); }},
    {"draining", "truth", [](auto& of) { return of.engine().draining(); }},
    {"log_level", "text", [](auto& of) { return of.services.host.LogLevelName(); }},
    {"jobs", "Jobs",
     [](auto& of) {
       return MakeObject(kStateCounts, {of.stats.ready, of.stats.reserved, of.stats.delayed,
                                        of.stats.buried, of.stats.urgent});
     }},
    {"counters", "Counters", [](auto& of) { return CountersOf(of.stats); }},
    {"tubes", "integer", [](auto& of) { return of.stats.tubes; }},
    {"connections", "Connections", [](auto& of) { return MakeObject(kConnections, of); }},
    {"memory", "Memory", [](auto& of) { return MakeObject(kMemory, of); }},
    {"journal", "Journal", [](auto& of) { return MakeObject(kJournal, of); }},
    {"refused", "any", [](auto& of) { return RefusedOf(of); }, "Counts by reason"},
    {"oldest_ready_age_seconds", "number?",
     [](auto& of) { return OrNull(of.services.history.OldestReadyAge(of.now)); }},
    {"loop_lag_seconds_p99", "number?", [](auto& of) { return of.services.history.LagP99(); },
     "How late the loop came to what was due"},
    {"received_bytes_total", "integer", [](auto& of) { return of.facts.received_bytes; }},
    {"sent_bytes_total", "integer", [](auto& of) { return of.facts.sent_bytes; }},
    {"cpu_seconds_total", "number", [](auto& of) { return of.facts.cpu_seconds; }},
    {"loop_cpu_seconds_total", "number", [](auto& of) { return of.facts.loop_cpu_seconds; }},
    {"routers", "*Router", [](auto& of) { return RoutersOf(of.facts); }},
    {"router_restarts_total", "integer", [](auto& of) { return of.facts.router_restarts; }},
    {"held_jobs", "integer", [](auto& of) { return of.engine().transfers().held(); },
     "Of transfers: stored, in no queue"},
    {"replica", "Replica?",
     [](auto& of) {
       const ReplicaStats& replica = of.journal().Replica();
       return replica.shared ? MakeObject(kReplica, replica) : Json();
     },
     "null: the journal is this machine's alone"},
};

// --- A schedule, a transfer

constexpr Member<RunningSchedule> kSchedule[] = {
    {"name", "text", [](auto& of) { return TextOf(of.entry.name); }},
    {"tube", "text", [](auto& of) { return TextOf(of.entry.tube); }},
    {"cron", "text?", [](auto& of) { return TextOrNull(of.entry.cron); }},
    {"every_seconds", "number?",
     [](auto& of) { return OrNull(of.entry.cron.empty(), Seconds(of.entry.every)); }},
    {"time_zone", "text", [](auto& of) { return of.plan.zone().name(); }},
    {"next_at", "time?", [](auto& of) { return of.off ? Json() : TimeOrNull(of.next); }},
    {"last_at", "time?", [](auto& of) { return TimeOrNull(of.ran); }},
    {"runs", "integer", [](auto& of) { return of.runs; }},
    {"skipped", "integer", [](auto& of) { return of.skipped; },
     "Runs left out because the last one's job was not finished"},
    {"missed", "integer", [](auto& of) { return of.missed; }, "Runs whose time was over"},
    {"enabled", "truth", [](auto& of) { return !of.off; }},
};

struct TransferView {
  std::string_view name;
  const transfer::Mark& mark;
  std::uint64_t held;
};
constexpr Member<TransferView> kTransfer[] = {
    {"name", "text", [](auto& of) { return TextOf(of.name); }},
    {"ref", "text", [](auto& of) { return RefOf(of.name); }, "The name as it stands in paths"},
    {"kind", "text", [](auto& of) { return TextOf(of.mark.kind); }},
    {"ids", "text", [](auto& of) { return of.mark.keep_ids ? "keep" : "new"; }},
    {"finished", "truth", [](auto& of) { return of.mark.finished; }},
    {"settled", "integer", [](auto& of) { return of.mark.settled; }},
    {"moved", "integer", [](auto& of) { return of.mark.moved; }},
    {"joined", "integer", [](auto& of) { return of.mark.joined; },
     "Jobs that were there already under their key"},
    {"refused", "integer", [](auto& of) { return of.mark.refused; }},
    {"altered", "integer", [](auto& of) { return of.mark.altered; }},
    {"uncertain", "integer", [](auto& of) { return of.mark.uncertain; }},
    {"held", "integer", [](auto& of) { return of.held; }, "Jobs stored, in no queue yet"},
};

template <typename Of, std::size_t kCount>
void Describe(std::string_view object, const Member<Of> (&members)[kCount],
              const DescribeMember& describe) {
  for (const Member<Of>& member : members) {
    describe(object, member.name, member.type, member.means);
  }
}

}  // namespace

Json TubeObject(const Engine& engine, std::string_view name, const Tube* tube, Time now) {
  Json object = MakeObject(kTube, {engine, name, tube, now});
  for (const TubeGauge& gauge : TubeGauges()) {
    if (gauge.member.empty()) continue;
    object[std::string(gauge.member)] = tube == nullptr ? 0 : NumberOf(gauge, *tube);
  }
  return object;
}

Json GroupObject(const GroupRow& row, Time now) { return MakeObject(kGroup, {row, now}); }

Json JobObject(const Engine& engine, const Job& job, Time now, bool preview) {
  return MakeObject(kJob, {engine, job, now, preview});
}

Json ConnectionObject(const ConnectionList::Entry& entry, Time now) {
  return MakeObject(kConnection, {entry, now});
}

Json ServerObject(const Services& services, Time now) {
  return MakeObject(kServer, {services, now});
}

Json ScheduleObject(const RunningSchedule& schedule) { return MakeObject(kSchedule, schedule); }

Json TransferObject(std::string_view name, const transfer::Mark& mark, std::uint64_t held) {
  return MakeObject(kTransfer, {name, mark, held});
}

void DescribeObjects(const DescribeMember& describe) {
  Describe("Jobs", kStateCounts, describe);
  for (const JobCounter& counter : JobCounters()) {
    describe("Counters", counter.short_name(), "integer", counter.help);
  }
  Describe("TubeLimits", kTubeLimits, describe);
  Describe("Tube", kTube, describe);
  for (const TubeGauge& gauge : TubeGauges()) {
    if (!gauge.member.empty()) describe("Tube", gauge.member, "integer", gauge.help);
  }
  Describe("Group", kGroup, describe);
  Describe("Holder", kHolder, describe);
  Describe("Progress", kProgress, describe);
  Describe("Job", kJob, describe);
  Describe("Connection", kConnection, describe);
  Describe("Connections", kConnections, describe);
  Describe("Memory", kMemory, describe);
  Describe("Journal", kJournal, describe);
  Describe("Leader", kLeader, describe);
  Describe("Store", kStore, describe);
  Describe("Replica", kReplica, describe);
  Describe("Router", kRouter, describe);
  Describe("Server", kServer, describe);
  Describe("Schedule", kSchedule, describe);
  Describe("Transfer", kTransfer, describe);
}

}  // namespace gearstalk::api
