#include "broker/config/config.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

namespace gearstalk {
namespace {

using Values = std::vector<std::string>;

Status Bad(std::string message) { return {Code::kInvalid, std::move(message)}; }

std::string FlagOf(const Option& option) {
  std::string flag = "--" + std::string(option.key);
  for (char& c : flag) c = c == '.' || c == '_' ? '-' : c;
  return flag;
}

std::string VariableOf(const Option& option) {
  std::string name = "GEARSTALKD_" + std::string(option.key);
  for (char& c : name) c = c == '.' ? '_' : static_cast<char>(std::toupper(c));
  return name;
}

Status Set(const Option& option, Config& config, const Values& values, const std::string& where) {
  Status status = option.set(config, values);
  if (status.ok()) return status;
  return Bad(fmt::format("{}: '{}': {}", where, fmt::join(values, ", "), status.message()));
}

// Edits that turn one word into the other, for suggestions.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

Status UnknownKey(const std::string& where, const std::string& key) {
  const auto nearest =
      std::min_element(Options().begin(), Options().end(), [&](const Option& a, const Option& b) {
        return Distance(key, a.key) < Distance(key, b.key);
      });
  return Bad(fmt::format("{}: unknown key '{}'; did you mean '{}'?", where, key, nearest->key));
}

Status ReadNode(const YAML::Node& node, const std::string& prefix, const std::string& file,
                Config& config) {
  for (const auto& entry : node) {
    const std::string key = prefix + entry.first.Scalar();
    const std::string where = fmt::format("{}:{}", file, entry.first.Mark().line + 1);
    if (entry.second.IsMap()) {
      Status status = ReadNode(entry.second, key + ".", file, config);
      if (!status.ok()) return status;
      continue;
    }
    const auto option = std::find_if(Options().begin(), Options().end(),
                                     [&](const Option& each) { return each.key == key; });
    if (option == Options().end()) return UnknownKey(where, key);
    Values values;
    if (entry.second.IsSequence() && option->list) {
      for (const auto& value : entry.second) values.push_back(value.as<std::string>());
    } else if (entry.second.IsScalar()) {
      values.push_back(entry.second.Scalar());
    }
    if (values.empty()) return Bad(fmt::format("{}: {}: expected a value", where, key));
    Status status = Set(*option, config, values, fmt::format("{}: {}", where, key));
    if (!status.ok()) return status;
  }
  return {};
}

Status ReadFile(const std::string& file, Config& config) {
  try {
    const YAML::Node root = YAML::LoadFile(file);
    if (root.IsNull()) return {};
    if (!root.IsMap()) return Bad(fmt::format("{}:1: expected 'key: value' lines", file));
    return ReadNode(root, "", file, config);
  } catch (const YAML::BadFile&) {
    return Bad(fmt::format("--config: cannot read '{}'", file));
  } catch (const YAML::Exception& error) {
    return Bad(fmt::format("{}:{}: {}", file, error.mark.line + 1, error.msg));
  }
}

Status ReadEnvironment(Config& config) {
  for (const Option& option : Options()) {
    const std::string name = VariableOf(option);
    const char* text = std::getenv(name.c_str());
    if (text == nullptr) continue;
    // Addresses hold commas of their own, so blanks part them.
    const Values values = option.list ? CLI::detail::split(text, ' ') : Values{std::string(text)};
    Status status = Set(option, config, values, name);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace

Result<CommandLine> ReadCommandLine(int argc, const char* const* argv, std::string_view version) {
  CLI::App app("A job broker that speaks the beanstalk and the Gearman protocol.", "gearstalkd");
  std::string file;
  bool check = false;
  app.add_option("--config", file, "Configuration file (YAML).")->type_name("FILE");
  app.add_flag("--check-config", check,
               "Read the configuration, say whether it is good, and exit.");
  app.set_version_flag("--version", std::string(version));
  std::string checked, salvaged;
  app.add_option("--journal-check", checked, "List what is in a journal, and all damage; exit.")
      ->type_name("DIR");
  app.add_option("--journal-salvage", salvaged,
                 "Make a new journal from all that can be read of a damaged one; exit.")
      ->type_name("DIR")
      ->excludes("--journal-check");
  std::vector<Values> given(Options().size());
  for (std::size_t i = 0; i < Options().size(); ++i) {
    const Option& option = Options()[i];
    app.add_option(FlagOf(option), given[i], std::string(option.help))
        ->type_name(std::string(option.value))
        ->expected(1)
        ->multi_option_policy(option.list ? CLI::MultiOptionPolicy::TakeAll
                                          : CLI::MultiOptionPolicy::TakeLast);
  }
  CommandLine line;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    line.action = CommandLine::Action::kPrintAndExit;
    line.text = app.help();
    return line;
  } catch (const CLI::CallForVersion&) {
    line.action = CommandLine::Action::kPrintAndExit;
    line.text = fmt::format("gearstalkd {}\n", version);
    return line;
  } catch (const CLI::ParseError& error) {
    return Bad(error.what());
  }
  if (!checked.empty() || !salvaged.empty()) {
    line.action =
        checked.empty() ? CommandLine::Action::kSalvageJournal : CommandLine::Action::kCheckJournal;
    line.text = checked.empty() ? salvaged : checked;
    return line;
  }
  if (!file.empty()) {
    if (Status status = ReadFile(file, line.config); !status.ok()) return status;
  }
  if (Status status = ReadEnvironment(line.config); !status.ok()) return status;
  for (std::size_t i = 0; i < Options().size(); ++i) {
    if (given[i].empty()) continue;
    const Option& option = Options()[i];
    if (Status status = Set(option, line.config, given[i], FlagOf(option)); !status.ok())
      return status;
  }
  if (check) line.action = CommandLine::Action::kCheckConfig;
  return line;
}

}  // namespace gearstalk
