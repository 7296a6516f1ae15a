#pragma once

#include <string>

namespace gearstalk {

// The table of options as the documents have it.
std::string OptionsAsMarkdown();  // the part of docs/configuration.md between its marks
std::string OptionsAsYaml();      // admin/packaging/gearstalkd.yaml: every option with its default

}  // namespace gearstalk
