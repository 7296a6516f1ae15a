#pragma once

#include <string>

namespace gearstalk {

// The tables of options and of policy keys as the documents have them.
std::string OptionsAsMarkdown();   // the part of docs/configuration.md between its marks
std::string OptionsAsYaml();       // admin/packaging/gearstalkd.yaml: every option with its default
std::string PoliciesAsMarkdown();  // the part of docs/policies.md between its marks

}  // namespace gearstalk
