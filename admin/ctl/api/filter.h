#pragma once

#include <optional>
#include <string>

#include "admin/ctl/api/api.h"

namespace gearstalk::ctl::api {

// Which jobs: the filter of the API as options of a command.
struct Filter {
  std::string tube;
  std::string state;  // states with commas between them
  std::string id_from, id_to, min_age, max_age, min_priority, max_priority, min_reserves,
      max_reserves, unique, holder, text, json_path, json_value, json_op;
  std::optional<std::string> group;  // empty: jobs without one

  // Adds all options but the tube's.
  void AddTo(Parameters& parameters);
  // For GET /jobs: parameters.
  Query AsQuery() const;
  // For POST /operations: members.
  Json AsJson() const;
};

}  // namespace gearstalk::ctl::api
