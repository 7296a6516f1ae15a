#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "broker/engine/groups.h"
#include "broker/engine/names.h"
#include "proto_beanstalk/commands.h"
#include "proto_beanstalk/reply.h"
#include "proto_beanstalk/session.h"
#include "proto_beanstalk/yaml.h"

namespace gearstalk::beanstalk {
namespace {

std::uint64_t Seconds(Time span) {
  return static_cast<std::uint64_t>(std::max<Time>(span, 0) / kSecond);
}

// "<seconds>.<microseconds>"
void CpuTime(Yaml& yaml, std::string_view key, const timeval& time) {
  yaml.Word(key, fmt::format("{}.{:06}", time.tv_sec, time.tv_usec));
}

void Commands(Yaml& yaml, const Protocol& protocol) {
  std::string key;
  for (std::size_t i = 0; i < kVerbsInStats; ++i) {
    const auto verb = static_cast<Verb>(i);
    key = "cmd-";
    key += CommandOf(verb).name();
    yaml.Number(key, protocol.count(verb));
  }
}

void Jobs(Yaml& yaml, const EngineStats& stats) {
  yaml.Number("current-jobs-urgent", stats.urgent);
  yaml.Number("current-jobs-ready", stats.ready);
  yaml.Number("current-jobs-reserved", stats.reserved);
  yaml.Number("current-jobs-delayed", stats.delayed);
  yaml.Number("current-jobs-buried", stats.buried);
}

void Connections(Yaml& yaml, const EngineStats& stats, const ConnectionList& connections) {
  yaml.Number("current-connections", connections.Count());
  yaml.Number("current-producers", stats.producers);
  yaml.Number("current-workers", stats.workers);
  yaml.Number("current-waiting", stats.waiting);
  yaml.Number("total-connections", connections.Total());
}

void Process(Yaml& yaml, const Identity& identity, Time now) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  yaml.Number("pid", static_cast<std::uint64_t>(identity.pid));
  yaml.Quoted("version", identity.version);
  CpuTime(yaml, "rusage-utime", usage.ru_utime);
  CpuTime(yaml, "rusage-stime", usage.ru_stime);
  yaml.Number("uptime", Seconds(now - identity.started));
}

void Binlog(Yaml& yaml, const JournalReports& journal) {
  const SegmentStats segments = journal.Segments();
  yaml.Number("binlog-oldest-index", segments.oldest);
  yaml.Number("binlog-current-index", segments.current);
  yaml.Number("binlog-records-migrated", segments.migrated);
  yaml.Number("binlog-records-written", journal.Stats().appends);
  yaml.Number("binlog-max-size", segments.size);
}

void Machine(Yaml& yaml, const Identity& identity) {
  yaml.Text("id", identity.instance);
  yaml.Text("hostname", identity.hostname);
  yaml.Text("os", identity.os);
  yaml.Text("platform", identity.platform);
}

// Lines of a job that is dead or whose tube has a policy.
void PolicyOfJob(Yaml& yaml, const Job& job, Time now) {
  const Policy* const policy = job.tube().policy();
  if (policy == nullptr && job.origin().empty()) return;
  const JobExtra& extra = job.extra();
  const Time expires = job.state() == JobState::kBuried ? kNever : job.rest().expiry.time;
  yaml.Number("attempts", extra.attempts);
  yaml.Number("max-attempts", policy == nullptr ? 0 : policy->attempts);
  yaml.Number("expires-in", expires == kNever ? 0 : Seconds(expires - now + kSecond - 1));
  yaml.Quoted("cause", CauseOf(job));
  yaml.Quoted("origin", job.origin());
  if (job.tube().groups() != nullptr) yaml.Quoted("group", GroupNameOf(job));
}

void PolicyOfTube(Yaml& yaml, const Tube& tube) {
  const Policy* const policy = tube.policy();
  if (policy == nullptr) return;
  const PolicyState& state = tube.policy_state();
  yaml.Number("current-jobs-retrying", state.retrying);
  yaml.Number("total-retries", state.counts.retries);
  yaml.Number("total-failed", tube.failed);
  yaml.Number("total-dead", state.counts.dead);
  yaml.Number("total-expired", state.counts.expired);
  yaml.Number("total-pruned", state.counts.pruned);
  yaml.Number("total-duplicates", state.counts.duplicates);
  yaml.Number("total-copies", state.counts.copies);
  yaml.Number("max-running", policy->max_running);
  yaml.Word("held-back", NameOf(tube.held_back));
  const Groups* const groups = tube.groups();
  if (groups == nullptr) return;
  const Groups::Counts counts = groups->counts();
  yaml.Number("groups", counts.groups);
  yaml.Number("groups-held-back", counts.held_back);
  yaml.Number("jobs-without-group", counts.without);
}

}  // namespace

Next Stats(Session& session, const Arguments& /*arguments*/) {
  const Protocol& protocol = session.protocol();
  const EngineStats stats = session.engine().Stats();
  Yaml yaml;
  Jobs(yaml, stats);
  Commands(yaml, protocol);
  yaml.Number("job-timeouts", stats.timeouts);
  yaml.Number("total-jobs", stats.total_jobs);
  yaml.Number("max-job-size", protocol.max_job_size());
  yaml.Number("current-tubes", stats.tubes);
  Connections(yaml, stats, protocol.connections());
  Process(yaml, protocol.identity(), session.now());
  Binlog(yaml, session.engine().journal());
  yaml.Word("draining", session.engine().draining() ? "true" : "false");
  Machine(yaml, protocol.identity());
  return WriteYaml(session.out(), yaml.Take());
}

Next StatsJob(Session& session, const Arguments& arguments) {
  const Engine& engine = session.engine();
  const Job* const job = engine.Find(arguments.id);
  if (job == nullptr) return session.Reply(kNotFound);
  const JobExtra& extra = job->extra();
  Yaml yaml;
  yaml.Number("id", job->id());
  yaml.Text("tube", job->tube().name());
  yaml.Word("state", NameOf(job->state()));
  yaml.Number("pri", job->priority);
  yaml.Number("age", Seconds(session.now() - job->created));
  yaml.Number("delay", job->delay_s);
  yaml.Number("ttr", engine.TtrSeconds(*job));
  yaml.Number("time-left", Seconds(engine.TimeLeft(session.now(), *job)));
  yaml.Number("file", 0);
  yaml.Number("reserves", job->reserves);
  yaml.Number("timeouts", extra.timeouts);
  yaml.Number("releases", extra.releases);
  yaml.Number("buries", extra.buries);
  yaml.Number("kicks", extra.kicks);
  PolicyOfJob(yaml, *job, session.now());
  return WriteYaml(session.out(), yaml.Take());
}

Next StatsTube(Session& session, const Arguments& arguments) {
  const Engine& engine = session.engine();
  const Tube* const tube = engine.FindTube(arguments.tube);
  if (tube == nullptr) return session.Reply(kNotFound);
  Yaml yaml;
  yaml.Text("name", tube->name());
  yaml.Number("current-jobs-urgent", tube->urgent());
  yaml.Number("current-jobs-ready", tube->ready());
  yaml.Number("current-jobs-reserved", tube->reserved());
  yaml.Number("current-jobs-delayed", tube->delayed());
  yaml.Number("current-jobs-buried", tube->buried());
  yaml.Number("total-jobs", tube->total_jobs);
  yaml.Number("current-using", tube->using_count);
  yaml.Number("current-watching", tube->watching);
  yaml.Number("current-waiting", engine.Waiting(*tube));
  yaml.Number("cmd-delete", tube->deletes);
  yaml.Number("cmd-pause-tube", tube->pauses);
  yaml.Number("pause", tube->settings.pause_s);
  yaml.Number("pause-time-left", Seconds(engine.PauseLeft(session.now(), *tube)));
  PolicyOfTube(yaml, *tube);
  return WriteYaml(session.out(), yaml.Take());
}

}  // namespace gearstalk::beanstalk
