#include "admin/ctl/api/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "admin/ctl/api/text.h"
#include "broker/base/split.h"

namespace gearstalk::ctl::api {
namespace {

const Json* FieldOf(const Json& object, std::string_view field) {
  const auto [outer, inner] = SplitOnce(field, '/');
  const auto found = object.is_object() ? object.find(std::string(outer)) : object.end();
  if (found == object.end() || found->is_null()) return nullptr;
  return inner.empty() ? &*found : FieldOf(*found, inner);
}

std::string Line(std::string_view label, const std::string& value) {
  return fmt::format("{:<18} {}", label, value);
}

void ShowMember(const Json& object, const std::string& name) {
  Say(Line(name, Shown(object, name.c_str())));
}

}  // namespace

double Number(const Json& object, const char* field) {
  const Json* value = FieldOf(object, field);
  return value != nullptr && value->is_number() ? value->get<double>() : 0;
}

std::string Word(const Json& object, const char* field) {
  const Json* value = FieldOf(object, field);
  if (value == nullptr) return "-";
  const auto text = [](const Json& each) {
    return Visible(each.is_string() ? each.get<std::string>() : each.dump());
  };
  if (!value->is_array()) return text(*value);
  std::string list;
  for (const Json& item : *value) {
    if (!list.empty()) list += ',';
    list += text(item);
  }
  return list.empty() ? "-" : list;
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

std::string Shown(const Json& object, const char* field) {
  const std::string_view name = field;
  if (name.ends_with("_seconds")) return Age(object, field);
  return name.ends_with("_bytes") ? Size(object, field) : Word(object, field);
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

namespace {

std::string DueIn(const Json& job, const char* /*field*/) {
  return Age(job, job.value("state", "") == "reserved" ? "ttr_left_seconds" : "due_in_seconds");
}

// Who holds a job: the client's name, or the number of its connection; "-": nobody.
std::string Holder(const Json& job, const char* field) {
  if (FieldOf(job, field) == nullptr) return "-";
  return FieldOf(job, "holder/client_id") != nullptr ? Word(job, "holder/client_id")
                                                     : "#" + Word(job, "holder/connection");
}

// A tube that retries counts the attempts that ended badly, the others all hand-outs.
std::string Attempt(const Json& job, const char* field) {
  const bool retries = FieldOf(job, field) != nullptr;
  return fmt::format("{:.0f}", retries ? Number(job, field) + 1 : Number(job, "reserves"));
}

std::string Attempts(const Json& job, const char* field) {
  return Count(job, Number(job, field) > 0 ? field : "reserves");
}

std::string When(const Json& schedule, const char* field) {
  const std::string cron = Word(schedule, field);
  return cron == "-" ? "every " + Age(schedule, "every_seconds") : cron;
}

struct Form {
  std::string_view name;
  std::string (*cell)(const Json& object, const char* field);
};
constexpr Form kForms[] = {
    {"", Shown},
    {"attempt", Attempt},
    {"attempts", Attempts},
    {"blocks", [](const Json& object,
                  const char* field) { return Blocks(object.value(field, Json::array()), 24); }},
    {"cut", [](const Json& object, const char* field) { return Cut(Word(object, field), 60); }},
    {"due", DueIn},
    {"holder", Holder},
    {"milliseconds",
     [](const Json& object, const char* field) {
       return fmt::format("{:.3f}", Number(object, field));
     }},
    {"or_nothing",
     [](const Json& object, const char* field) {
       return FieldOf(object, field) == nullptr ? "" : Word(object, field);
     }},
    {"when", When},
    {"yes",
     [](const Json& object, const char* field) -> std::string {
       return object.value(field, false) ? "yes" : "no";
     }},
};

}  // namespace

std::string TableOf(const Json& objects, std::string_view columns) {
  std::vector<std::vector<std::string>> lines(objects.size() + 1);
  std::vector<bool> right;
  std::vector<std::size_t> widths;
  for (const std::string_view column : SplitWords(columns)) {
    const auto [title, shown] = SplitOnce(column, '=');
    const auto [field, form] = SplitOnce(shown, ':');
    right.push_back(title.starts_with('>'));
    std::string& heading = lines[0].emplace_back(title.substr(right.back() ? 1 : 0));
    std::ranges::replace(heading, '_', ' ');
    const auto* const found = std::ranges::find(kForms, form, &Form::name);
    GS_CHECK(found != std::end(kForms));
    for (std::size_t i = 0; i < objects.size(); ++i) {
      lines[i + 1].push_back(found->cell(objects[i], std::string(field).c_str()));
    }
    widths.push_back(0);
    for (const auto& line : lines) widths.back() = std::max(widths.back(), Width(line.back()));
  }
  std::string text;
  for (const auto& cells : lines) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string space(widths[i] - Width(cells[i]), ' ');
      if (i > 0) line += "  ";
      line += right[i] ? space + cells[i] : cells[i] + space;
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

Printer ShowIn(std::string_view columns) {
  return [columns](const Json& shown) {
    const Json objects = shown.is_object() ? Json::array({shown}) : shown;
    std::fputs(TableOf(objects, columns).c_str(), stdout);
  };
}

void ShowTube(const Json& tube) {
  ShowIn(kTubeColumns)(tube);
  Say("");
  for (const auto& [name, value] : tube.items()) {
    if (name != "ref" && value.is_primitive() && !value.is_null()) ShowMember(tube, name);
  }
  Say(Line("maxqueue", fmt::format("high {}, normal {}, low {} ({})", Count(tube, "maxqueue/high"),
                                   Count(tube, "maxqueue/normal"), Count(tube, "maxqueue/low"),
                                   Word(tube, "maxqueue/source"))));
  const Json counters = tube.value("counters", Json::object());
  for (const auto& [name, value] : counters.items()) ShowMember(counters, name);
}

void ShowJob(const Json& job) {
  for (const auto& [name, value] : job.items()) {
    if (name != "tube_ref" && !value.is_null()) ShowMember(job, name);
  }
}

}  // namespace gearstalk::ctl::api
