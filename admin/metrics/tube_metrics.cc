#include "admin/metrics/tube_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "admin/metrics/job_metrics.h"
#include "admin/metrics/metric_text.h"
#include "broker/base/utf8.h"
#include "broker/engine/groups.h"

namespace gearstalk {
namespace {

constexpr std::size_t kMaxName = 200;  // bytes, as long as beanstalk's names may be

bool Plain(char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F && c != '\\'; }

template <auto kNumber>
std::optional<double> OfGroups(const Tube& tube, Time /*now*/) {
  if (tube.groups() == nullptr) return std::nullopt;
  return static_cast<double>(tube.groups()->counts().*kNumber);
}

// Before the counters.
constexpr TubeGauge kTubeGauges[] = {
    {"gearstalkd_tube_jobs", "Jobs of a tube by state."},
    {"gearstalkd_tube_oldest_ready_job_age_seconds",
     "Time since the put of the oldest ready job of a tube; 0 if none is ready.",
     [](const Tube& tube, Time now) {
       return std::optional(OldestReadyAge(tube, now).value_or(0));
     }},
    {"gearstalkd_tube_workers",
     "Workers that can do the function, and connections that watch the tube and have reserved.",
     [](const Tube& tube, Time) { return std::optional<double>(tube.workers); }, "workers"},
    {"gearstalkd_tube_jobs_retrying", "Delayed jobs of a tube that wait for their next attempt.",
     [](const Tube& tube, Time) { return std::optional<double>(tube.policy_state().retrying); },
     "retrying"},
    {"gearstalkd_tube_held_back", "1 while max_running or rate keep a tube from handing out jobs.",
     [](const Tube& tube, Time) {
       return std::optional<double>(tube.held_back != HeldBack::kNone);
     }},
    {"gearstalkd_tube_groups", "Groups of a tube that have unfinished jobs.",
     OfGroups<&Groups::Counts::groups>, "groups"},
    {"gearstalkd_tube_groups_held_back",
     "Groups of a tube that have a ready job and may not give it.",
     OfGroups<&Groups::Counts::held_back>, "groups_held_back"},
    {"gearstalkd_tube_jobs_without_group", "Unfinished jobs of a tube that have no group.",
     OfGroups<&Groups::Counts::without>, "jobs_without_group"},
    {"gearstalkd_tube_job_age_at_reserve_seconds",
     "Time from the put of a job until a consumer got it, of a tube with groups."},
};
constexpr std::size_t kGauges = std::size(kTubeGauges);
constexpr std::size_t kJobs = 0, kAgeAtReserve = kGauges - 1;

constexpr std::string_view kJobStates[] = {"ready", "reserved", "delayed", "buried"};

void Begin(std::size_t family, MetricText& text) {
  if (family == kAgeAtReserve) {
    text.Histogram(kTubeGauges[family].name, kTubeGauges[family].help);
  } else if (family < kGauges) {
    text.Gauge(kTubeGauges[family].name, kTubeGauges[family].help);
  } else {
    const JobCounter& counter = JobCounters()[family - kGauges];
    text.Counter(counter.tube_name(), counter.help);
  }
}

using Named = std::optional<std::vector<std::uint64_t>>;

// The next tube of `named`, or of all. `place`, in `named` or the last id, moves on. Leaves out
// tubes that are gone.
const Tube* NextTube(const Engine& engine, const Named& named, std::uint64_t& place) {
  while (named && place < named->size()) {
    if (const Tube* const tube = TubeOfId(engine, (*named)[place++])) return tube;
  }
  const Tube* const tube = named ? nullptr : engine.NextTube(place);
  if (tube != nullptr) place = tube->id();
  return tube;
}

using JobsByState = std::array<std::uint64_t, std::size(kJobStates)>;

JobsByState JobsOf(const Tube& tube) {
  return {tube.ready(), tube.reserved(), tube.delayed(), tube.buried()};
}

// Adds its number of the family to the text, and its jobs to `jobs`.
void AddTube(const Tube& tube, std::size_t family, Time now, MetricText& text, JobsByState& jobs) {
  const std::string label = TubeLabel(tube);
  if (family >= kGauges) {
    text.Add(JobCounters()[family - kGauges].Of(tube), {{"tube", label}});
  } else if (const auto of = kTubeGauges[family].value; of != nullptr) {
    if (const auto value = of(tube, now)) text.Add(*value, {{"tube", label}});
  } else if (family == kAgeAtReserve) {
    if (tube.groups() != nullptr) text.Add(tube.groups()->ages(), {{"tube", label}});
  } else {
    const JobsByState its_jobs = JobsOf(tube);
    for (std::size_t state = 0; state < jobs.size(); ++state) {
      text.Add(its_jobs[state], {{"tube", label}, {"state", kJobStates[state]}});
      jobs[state] += its_jobs[state];
    }
  }
}

// `named`: the jobs of the tubes that have a label.
void AddOthers(const EngineStats& stats, const JobsByState& named, MetricText& text) {
  const JobsByState all = {stats.ready, stats.reserved, stats.delayed, stats.buried};
  for (std::size_t state = 0; state < all.size(); ++state) {
    // The tubes were counted in earlier rounds of the loop and may have had more jobs.
    text.Add(all[state] - std::min(all[state], named[state]),
             {{"tube", kOtherTubes}, {"state", kJobStates[state]}});
  }
}

}  // namespace

std::span<const TubeGauge> TubeGauges() { return kTubeGauges; }

std::string TubeLabel(const Tube& tube) {
  const std::string_view name = std::string_view(tube.name()).substr(0, kMaxName);
  std::string label;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t length = CharacterSize(name.substr(at));
    if (length > 1 || (length == 1 && Plain(name[at]))) {
      label += name.substr(at, length);
      at += length;
    } else {
      label += fmt::format("\\x{:02x}", static_cast<unsigned char>(name[at]));
      ++at;
    }
  }
  if (label == kOtherTubes) return fmt::format("\\x{:02x}{}", label[0], label.substr(1));
  if (name.size() < tube.name().size()) label += fmt::format("\\#{}", tube.id());
  return label;
}

HttpBody ReadTubes(const Engine& engine, Time now, Named named) {
  constexpr std::size_t kSlice = 64;  // tubes
  MetricText text;
  std::string piece;
  JobsByState jobs{};  // of the tubes so far
  for (std::size_t family = 0; family < kGauges + JobCounters().size(); ++family) {
    Begin(family, text);
    std::uint64_t place = 0;
    for (std::size_t told = 1; const Tube* const tube = NextTube(engine, named, place); ++told) {
      AddTube(*tube, family, now, text, jobs);
      if (told % kSlice > 0) continue;
      piece = text.Take();
      co_yield piece;
      Begin(family, text);
      text.GoOn();
    }
    if (family == kJobs && named) AddOthers(engine.Stats(), jobs, text);
    piece = text.Take();
    co_yield piece;
  }
  co_return std::string();
}

}  // namespace gearstalk
