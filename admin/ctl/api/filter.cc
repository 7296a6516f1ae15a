#include "admin/ctl/api/filter.h"

#include <algorithm>

#include "broker/base/split.h"

namespace gearstalk::ctl::api {
namespace {

enum class Form { kNumber, kText };

struct Row {
  const char* flag;
  const char* parameter;
  std::string Filter::*field;
  Form form;
  const char* help;
};

constexpr Row kRows[] = {
    {"--id-from", "id_from", &Filter::id_from, Form::kNumber, "Ids from this one on"},
    {"--id-to", "id_to", &Filter::id_to, Form::kNumber, "Ids up to this one"},
    {"--min-age", "min_age_seconds", &Filter::min_age, Form::kNumber,
     "Seconds since the put, at least"},
    {"--max-age", "max_age_seconds", &Filter::max_age, Form::kNumber,
     "Seconds since the put, at most"},
    {"--min-priority", "min_priority", &Filter::min_priority, Form::kNumber, "Priority, at least"},
    {"--max-priority", "max_priority", &Filter::max_priority, Form::kNumber, "Priority, at most"},
    {"--min-reserves", "min_reserves", &Filter::min_reserves, Form::kNumber, "Reserves, at least"},
    {"--max-reserves", "max_reserves", &Filter::max_reserves, Form::kNumber, "Reserves, at most"},
    {"--unique", "unique", &Filter::unique, Form::kText, "Unique key"},
    {"--holder", "holder", &Filter::holder, Form::kNumber,
     "Number of the connection that holds it"},
    {"--text", "text", &Filter::text, Form::kText, "Text in the body"},
    {"--json-path", "json_path", &Filter::json_path, Form::kText, "Place in a JSON body: $.a.b[0]"},
    {"--json-value", "json_value", &Filter::json_value, Form::kText, "What is there"},
    {"--json-op", "json_op", &Filter::json_op, Form::kText, "eq, ne, lt, gt or contains"},
};

std::string CheckStates(const std::string& words) {
  constexpr std::string_view kKnown[] = {"ready", "reserved", "delayed", "buried"};
  for (const std::string_view state : Split(words, ',')) {
    if (std::ranges::find(kKnown, state) == std::end(kKnown)) {
      return std::string(state) + " not in {ready,reserved,delayed,buried}";
    }
  }
  return {};
}

}  // namespace

void Filter::AddTo(Parameters& parameters) {
  parameters.push_back({"--state",
                        &state,
                        "ready, reserved, delayed, buried; several with commas",
                        {.check = CheckStates}});
  for (const Row& row : kRows) {
    Rules rules;
    if (row.form == Form::kNumber) rules.sign = Sign::kNotNegative;
    if (row.field == &Filter::json_op) rules.one_of = {"eq", "ne", "lt", "gt", "contains"};
    parameters.push_back({row.flag, &(this->*row.field), row.help, std::move(rules)});
  }
  parameters.push_back({"--group", &group, "Group inside its tube; '' are the jobs without one"});
}

Query Filter::AsQuery() const {
  Query query = {{"state", state}};
  for (const Row& row : kRows) query.push_back({row.parameter, this->*row.field});
  if (group) query.push_back({"group", *group, true});
  return query;
}

Json Filter::AsJson() const {
  Json filter = Json::object();
  if (!tube.empty()) SetBytes(filter, "tube", tube);
  if (!state.empty()) filter["state"] = Split(state, ',');
  for (const Row& row : kRows) {
    const std::string& value = this->*row.field;
    if (value.empty()) continue;
    if (row.form == Form::kText) {
      SetBytes(filter, row.parameter, value);
    } else {
      filter[row.parameter] = Json::parse(value);  // checked when it was read
    }
  }
  if (group) SetBytes(filter, "group", *group);
  return filter;
}

}  // namespace gearstalk::ctl::api
