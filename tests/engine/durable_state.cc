#include "tests/engine/durable_state.h"

#include <fmt/format.h>

#include <set>

namespace gearstalk {
namespace {

std::string Line(const Record& job) {
  const Record::Counters& counters = job.counters;
  return fmt::format(
      "{} in {}: state {} priority {} ttr {} delay {} due {} created {} burial {} releases {} "
      "buries {} kicks {} unique {}{} reducer {} keep {} body {}\n",
      job.id, job.tube, static_cast<int>(job.state), job.priority, job.ttr_s, job.delay_s, job.due,
      job.created, job.burial, counters.releases, counters.buries, counters.kicks, job.unique,
      job.unique_is_body ? " (body)" : "", job.reducer, job.keep_on_failure, job.body);
}

std::string SettingsLine(const Record& tube) {
  const TubeSettings& settings = tube.settings;
  return fmt::format("tube {}: created {} pause {} until {} limits {} {} {}\n", tube.tube,
                     settings.created_function, settings.pause_s, settings.pause_until,
                     settings.max_queue[0], settings.max_queue[1], settings.max_queue[2]);
}

bool IsSet(const Record& tube) {
  return tube.settings.created_function || tube.settings.max_queue != MaxQueue{};
}

}  // namespace

std::string DurableState(Engine& engine) {
  std::string text;
  std::set<std::string> filled, settings;
  for (const Job* job = engine.NextJob(0); job != nullptr; job = engine.NextJob(job->id())) {
    engine.records().Capture(job->id(), [&](const Record& record) {
      text += Line(record);
      filled.emplace(record.tube);
    });
  }
  engine.records().CaptureSettings([&](const Record& record) {
    if (record.kind != Record::Kind::kTube) return;
    if (IsSet(record) || filled.contains(std::string(record.tube))) {
      settings.insert(SettingsLine(record));
    }
  });
  for (const std::string& line : settings) text += line;
  return text;
}

JobId NextId(Engine& engine) {
  JobId next = 0;
  engine.records().CaptureSettings([&](const Record& record) {
    if (record.kind == Record::Kind::kNextId) next = record.id;
  });
  return next;
}

}  // namespace gearstalk
