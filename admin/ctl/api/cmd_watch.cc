// What happened, and what happens now: history, events, audit.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "admin/ctl/api/api.h"
#include "admin/ctl/api/fields.h"
#include "admin/ctl/api/text.h"

namespace gearstalk::ctl::api {
namespace {

struct HistoryOptions {
  std::vector<std::string> series;
  std::string range = "1h", tube;
  bool csv = false;

  Parameters AsParameters() {
    return {{"SERIES", &series, "Such as jobs_ready or put_per_second"},
            {"--range", &range, "1h or 30d", OneOf({"1h", "30d"})},
            {"--tube", &tube, "Of one tube"},
            {"--csv", &csv, "Comma-separated values"}};
  }
};

std::string CsvCell(const Json& value) {
  return value.is_null()     ? ""
         : value.is_number() ? fmt::format("{}", value.get<double>())
                             : value.dump();
}

void PrintCsv(const Json& history) {
  std::string line = "time";
  for (const auto& [name, values] : history["series"].items()) {
    line += ',';
    line += name;
  }
  Say(line);
  for (std::size_t i = 0; i < history["times"].size(); ++i) {
    line = history["times"][i].dump();
    for (const auto& [name, values] : history["series"].items()) {
      line += ',';
      line += CsvCell(values[i]);
    }
    Say(line);
  }
}

void DrawHistory(const Json& history) {
  for (const auto& [name, values] : history["series"].items()) {
    double last = 0, most = 0;
    for (const Json& value : values) {
      if (!value.is_number()) continue;
      last = value.get<double>();
      most = std::max(most, last);
    }
    Say(fmt::format("{:<28} {} now {:.6g}, most {:.6g}", name, Blocks(values, 60), last, most));
  }
}

int History(Api& api, const HistoryOptions& options) {
  const Query query = {{"series", fmt::format("{}", fmt::join(options.series, ","))},
                       {"range", options.range},
                       {"tube", options.tube}};
  return Print(api, api.Get(WithQuery("/history", query)), options.csv ? PrintCsv : DrawHistory);
}

// --- events

struct EventOptions {
  std::string topics, tubes;
  std::size_t count = 0;  // 0: until interrupted

  Parameters AsParameters() {
    return {{"--topics", &topics, "Of server,tube,operation,audit,notice"},
            {"--tubes", &tubes, "Tubes, with commas between them"},
            {"--count", &count, "End after so many events"}};
  }
};

// Takes server-sent events apart.
class EventReader {
 public:
  explicit EventReader(std::function<bool(const std::string& event, const std::string& data)> visit)
      : visit_(std::move(visit)) {}

  bool Take(std::string_view piece) {
    pending_ += piece;
    for (std::size_t end; (end = pending_.find('\n')) != std::string::npos;) {
      const std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      if (!TakeLine(line)) return false;
    }
    return true;
  }

 private:
  bool TakeLine(const std::string& line) {
    if (line.starts_with("event: ")) event_ = line.substr(7);
    if (line.starts_with("data: ")) data_ += line.substr(6);
    if (!line.empty() || data_.empty()) return true;
    return visit_(std::exchange(event_, ""), std::exchange(data_, ""));
  }

  std::function<bool(const std::string&, const std::string&)> visit_;
  std::string pending_, event_, data_;
};

int Events(Api& api, const EventOptions& options) {
  std::string refs;
  // The API names tubes by what stands in a path.
  for (std::size_t begin = 0; begin < options.tubes.size();) {
    const std::size_t end = std::min(options.tubes.find(',', begin), options.tubes.size());
    if (!refs.empty()) refs += ",";
    refs += TubePath(options.tubes.substr(begin, end - begin)).substr(std::size("/tubes/") - 1);
    begin = end + 1;
  }
  std::size_t seen = 0;
  EventReader reader([&](const std::string& event, const std::string& data) {
    if (api.settings().json) {
      Json object = {{"event", event}};
      object["data"] = Json::parse(data, nullptr, false);
      Say(object.dump());
    } else {
      Say(fmt::format("{} {}", Visible(event), Visible(data)));
    }
    if (std::fflush(stdout) != 0) return false;
    return options.count == 0 || ++seen < options.count;
  });
  const std::string path = WithQuery("/events", {{"topics", options.topics}, {"tubes", refs}});
  return api.Stream(path, [&](std::string_view piece) { return reader.Take(piece); })
             ? kDone
             : api.exit_code();
}

int Audit(Api& api, const std::size_t& limit) {
  return PrintItems(api, api.List("/audit", {}, limit),
                    ShowIn("AT=at USER=user ROLE=role ADDRESS=address ACTION=action TUBE=tube "
                           ">JOB=job >COUNT=count >TIMES=times RESULT=result"));
}

}  // namespace

std::vector<Command> WatchCommands() {
  return {
      {"history", "Draw numbers of the last hour or month",
       "gearstalkctl history jobs_ready put_per_second --range 1h", BindApi(History)},
      {"events",
       "Follow what happens",
       "gearstalkctl events --topics server,notice --count 1",
       BindApi(Events),
       {"tail", "watch"}},
      {"audit", "List who did what", "gearstalkctl audit --limit 20",
       BindApi(Audit, "--limit", "Acts to list", kPositive, std::size_t{50})},
  };
}

}  // namespace gearstalk::ctl::api
