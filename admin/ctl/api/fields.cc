#include "admin/ctl/api/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "admin/ctl/api/text.h"

namespace gearstalk::ctl::api {
namespace {

const Json* FieldOf(const Json& object, const char* field) {
  const auto found = object.is_object() ? object.find(field) : object.end();
  return !object.is_object() || found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string Line(std::string_view label, const std::string& value) {
  return fmt::format("{:<18} {}", label, value);
}

// Who holds a job: the client's name, or the number of its connection; "-": nobody.
std::string HolderOf(const Json& job) {
  const Json holder = job.value("holder", Json());
  if (!holder.is_object()) return "-";
  return holder.value("client_id", Json()).is_string() ? Word(holder, "client_id")
                                                       : "#" + Word(holder, "connection");
}

}  // namespace

double Number(const Json& object, const char* field) {
  const Json* value = FieldOf(object, field);
  return value != nullptr && value->is_number() ? value->get<double>() : 0;
}

std::string Word(const Json& object, const char* field) {
  const Json* value = FieldOf(object, field);
  if (value == nullptr) return "-";
  return value->is_string() ? Visible(value->get<std::string>()) : Visible(value->dump());
}

std::string Age(const Json& object, const char* field) {
  const Json* value = FieldOf(object, field);
  return value == nullptr ? "-" : AgeText(value->get<double>());
}

std::string Size(const Json& object, const char* field) {
  const Json* value = FieldOf(object, field);
  return value == nullptr ? "-" : SizeText(value->get<double>());
}

std::string Count(const Json& object, const char* field) {
  return fmt::format("{:.0f}", Number(object, field));
}

std::string Words(const Json& list) {
  if (!list.is_array()) return list.is_null() ? "-" : Visible(list.dump());
  std::string text;
  for (const Json& item : list) {
    text += text.empty() ? "" : ",";
    text += Visible(item.is_string() ? item.get<std::string>() : item.dump());
  }
  return text.empty() ? "-" : text;
}

std::string Blocks(const Json& values, std::size_t width) {
  constexpr std::string_view kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double most = 0;
  for (const Json& value : values)
    most = std::max(most, value.is_number() ? value.get<double>() : 0);
  std::string line;
  const std::size_t count = std::min(width, values.size());
  for (std::size_t i = 0; i < count; ++i) {
    double highest = 0;
    for (std::size_t at = i * values.size() / count; at < (i + 1) * values.size() / count; ++at) {
      if (values[at].is_number()) highest = std::max(highest, values[at].get<double>());
    }
    line += kBlocks[most == 0 ? 0 : static_cast<std::size_t>(std::ceil(highest / most * 8))];
  }
  return line;
}

void ShowTubes(const Json& tubes) {
  Table table({"TUBE", ">READY", ">RESERVED", ">DELAYED", ">BURIED", ">WORKERS", ">WAITING",
               ">OLDEST", "PAUSED"});
  for (const Json& tube : tubes) {
    const Json jobs = tube.value("jobs", Json::object());
    const bool paused = tube.value("paused", false);
    table.Add({Word(tube, "name"), Count(jobs, "ready"), Count(jobs, "reserved"),
               Count(jobs, "delayed"), Count(jobs, "buried"), Count(tube, "workers"),
               Count(tube, "waiting"), Age(tube, "oldest_ready_age_seconds"),
               paused ? Age(tube, "pause_left_seconds") : "-"});
  }
  std::fputs(table.Text().c_str(), stdout);
}

void ShowTube(const Json& tube) {
  ShowTubes(Json::array({tube}));
  Say("");
  Say(Line("using", Count(tube, "using")));
  Say(Line("watching", Count(tube, "watching")));
  Say(Line("pauses", Count(tube, "pauses_total")));
  const Json limit = tube.value("maxqueue", Json::object());
  Say(Line("maxqueue",
           fmt::format("high {}, normal {}, low {} ({})", Count(limit, "high"),
                       Count(limit, "normal"), Count(limit, "low"), Word(limit, "source"))));
  Say(Line("create function", tube.value("created_function", false) ? "yes" : "no"));
  const Json counters = tube.value("counters", Json::object());
  for (const auto& [name, value] : counters.items()) Say(Line(name, value.dump()));
}

void ShowGroups(const Json& groups) {
  Table table({"GROUP", ">READY", ">RESERVED", ">DELAYED", ">HANDED OUT", ">OLDEST", "HELD BACK"});
  for (const Json& group : groups) {
    table.Add({Word(group, "name"), Count(group, "ready"), Count(group, "reserved"),
               Count(group, "delayed"), Count(group, "handed_out"),
               Age(group, "oldest_ready_age_seconds"), Word(group, "held_back")});
  }
  std::fputs(table.Text().c_str(), stdout);
}

void ShowJobs(const Json& jobs) {
  Table table({">ID", "TUBE", "STATE", ">AGE", ">PRIORITY", ">RESERVES", ">SIZE", ">DUE", "HOLDER",
               "PREVIEW"});
  for (const Json& job : jobs) {
    const bool reserved = job.value("state", "") == "reserved";
    table.Add({Word(job, "id"), Word(job, "tube"), Word(job, "state"), Age(job, "age_seconds"),
               Count(job, "priority"), Count(job, "reserves"), Size(job, "size_bytes"),
               Age(job, reserved ? "ttr_left_seconds" : "due_in_seconds"), HolderOf(job),
               job.contains("preview") && job["preview"].is_string() ? Word(job, "preview") : ""});
  }
  std::fputs(table.Text().c_str(), stdout);
}

void ShowRunning(const Json& jobs) {
  Table table({"TUBE", ">JOB", "WORKER", "ADDRESS", ">SINCE", ">LEFT", ">ATTEMPTS"});
  for (const Json& job : jobs) {
    // A tube that retries counts the attempts that ended badly, the others all hand-outs.
    const double attempt =
        FieldOf(job, "attempts") == nullptr ? Number(job, "reserves") : Number(job, "attempts") + 1;
    table.Add({Word(job, "tube"), Word(job, "id"), HolderOf(job),
               Word(job.value("holder", Json()), "address"), Age(job, "running_seconds"),
               Age(job, "ttr_left_seconds"), fmt::format("{:.0f}", attempt)});
  }
  std::fputs(table.Text().c_str(), stdout);
}

void ShowFailures(const Json& jobs) {
  Table table({"FAILED", ">JOB", "TUBE", "CAUSE", ">ATTEMPTS", "ORIGIN", "TEXT"});
  for (const Json& job : jobs) {
    const bool counted = Number(job, "attempts") > 0;
    table.Add({Word(job, "failed_at"), Word(job, "id"), Word(job, "tube"), Word(job, "cause"),
               Count(job, counted ? "attempts" : "reserves"), Word(job, "origin"),
               Cut(Word(job, "cause_text"), 60)});
  }
  std::fputs(table.Text().c_str(), stdout);
}

void ShowFailureGroups(const Json& groups) {
  Table table({"TUBE", "CAUSE", ">JOBS", "FIRST", "LAST", "ORIGIN", "WHEN"});
  for (const Json& group : groups) {
    table.Add({Word(group, "tube"), Word(group, "cause"), Count(group, "count"),
               Word(group, "first_failed_at"), Word(group, "last_failed_at"), Word(group, "origin"),
               Blocks(group.value("per_step", Json::array()), 24)});
  }
  std::fputs(table.Text().c_str(), stdout);
}

void ShowJob(const Json& job) {
  for (const auto& [name, value] : job.items()) {
    if (name == "tube_ref" || value.is_null()) continue;
    const bool seconds = name.ends_with("_seconds") && value.is_number();
    const bool bytes = name.ends_with("_bytes") && value.is_number();
    Say(Line(name, seconds ? AgeText(value.get<double>())
                   : bytes ? SizeText(value.get<double>())
                           : Word(job, name.c_str())));
  }
}

void ShowConnections(const Json& connections) {
  Table table({">ID", "PROTOCOL", "ADDRESS", "CLIENT", "ROLES", ">HOLDS", ">IDLE", "WATCHES"});
  for (const Json& connection : connections) {
    const auto list = [&](const char* field) { return connection.value(field, Json()); };
    const Json holds = list("holds");
    table.Add({Word(connection, "id"), Word(connection, "protocol"), Word(connection, "address"),
               Word(connection, "client_id"), Words(list("roles")),
               holds.is_array() ? Words(holds) : Word(connection, "holds"),
               Age(connection, "idle_seconds"), Words(list("watches"))});
  }
  std::fputs(table.Text().c_str(), stdout);
}

}  // namespace gearstalk::ctl::api
