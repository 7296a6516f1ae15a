#include "broker/config/sources.h"

#include <fmt/format.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "broker/base/near_names.h"
#include "broker/base/split.h"
#include "broker/config/policies.h"

namespace gearstalk {
namespace {

// The nearest option, or group of options.
std::string UnknownKey(const std::string& where, const std::string& key) {
  std::string nearest;
  std::size_t least = SIZE_MAX;
  const auto offer = [&](std::string_view name, std::size_t distance) {
    if (distance >= least) return;
    least = distance;
    nearest = name;
  };
  for (const Option& option : Options()) {
    offer(option.key, EditDistance(key, option.key));
    const std::size_t dot = option.key.find('.');
    if (dot == std::string_view::npos) continue;
    // The name without its group counts as nearly right.
    offer(option.key, EditDistance(key, option.key.substr(dot + 1)) + 1);
    const std::string_view group = option.key.substr(0, dot);
    offer(fmt::format("{}:", group), EditDistance(key, group));
  }
  return fmt::format("{}: unknown key '{}'; did you mean '{}'?", where, key, nearest);
}

bool IsGroup(std::string_view key) {
  return std::any_of(Options().begin(), Options().end(), [&](const Option& option) {
    return option.key.size() > key.size() && option.key.starts_with(key) &&
           option.key[key.size()] == '.';
  });
}

// An empty list is a valid value of the lists whose default is empty.
bool MayBeEmpty(const Option& list) { return list.kind.get(Config()).empty(); }

class FileReader {
 public:
  FileReader(const std::string& file, const Checks& checks, Settings& settings)
      : file_(file), checks_(checks), settings_(settings) {}

  void ReadMap(const YAML::Node& map, const std::string& prefix) {
    for (const auto& entry : map) {
      const std::string key = prefix + entry.first.Scalar();
      const bool whole = key == "tubes" || key == "schedules" || FindOption(key) != nullptr;
      if (entry.second.IsMap() && !whole) {
        ReadMap(entry.second, key + ".");
      } else {
        ReadEntry(key, entry.first, entry.second);
      }
    }
  }

 private:
  std::string Line(const YAML::Node& node) const {
    return fmt::format("{}:{}", file_, node.Mark().line + 1);
  }

  void Bad(const YAML::Node& node, std::string_view what) {
    settings_.errors.push_back(fmt::format("{}: {}", Line(node), what));
  }

  void ReadEntry(const std::string& key, const YAML::Node& name, const YAML::Node& node) {
    if (IsGroup(key)) return ReadNoMap(key, name, node);
    if (!seen_.insert(key).second) return Bad(name, key + ": is there twice");
    if (key == "tubes") return ReadRows(node, ReadTubes);
    if (key == "schedules") return ReadScheduleRows(node);
    const Option* option = FindOption(key);
    if (option == nullptr) return settings_.errors.push_back(UnknownKey(Line(name), key));
    std::vector<Given> values;
    const auto add = [&](const YAML::Node& value, const YAML::Node& line) {
      if (!value.IsScalar()) return false;
      values.push_back({value.Scalar(), fmt::format("{}: {}", Line(line), key)});
      return true;
    };
    bool good = false;
    if (node.IsSequence() && option->list()) {
      good = node.size() > 0 || MayBeEmpty(*option);
      for (const YAML::Node& value : node) {
        if (!add(value, value)) return Bad(value, key + ": expected a text");
      }
    } else {
      good = add(node, name);
    }
    if (!good) return Bad(name, key + ": expected a value");
    SetOption(*option, values, checks_, settings_);
  }

  void ReadRows(const YAML::Node& node,
                void (*read)(const YAML::Node&, const BlameNode&, Config&)) {
    const auto blame = [&](const YAML::Node& at, const std::string& key, const std::string& what) {
      Bad(at, fmt::format("{}: {}", key, what));
    };
    read(node, blame, settings_.config);
  }

  // Conflicts with other options are found later; their messages name the schedule.
  void ReadScheduleRows(const YAML::Node& node) {
    ReadRows(node, ReadSchedules);
    if (!node.IsSequence()) return;
    for (const YAML::Node& entry : node) {
      if (!entry.IsMap() || !entry["name"] || !entry["name"].IsScalar()) continue;
      settings_.origins.push_back(
          {"schedules", entry["name"].Scalar(), Line(entry) + ": schedules"});
    }
  }

  // A group with all its lines commented out is allowed.
  void ReadNoMap(const std::string& group, const YAML::Node& name, const YAML::Node& node) {
    if (!node.IsNull()) Bad(name, group + ": expected 'key: value' lines below it");
  }

  const std::string& file_;
  const Checks& checks_;
  Settings& settings_;
  std::set<std::string> seen_;
};

// What is wrong with so many values; empty: nothing.
std::string WrongCount(const Option& option, std::size_t values) {
  if (values == 0 && !(option.list() && MayBeEmpty(option))) return "expected a value";
  if (values > 1 && !option.list()) return "expected one line";
  return "";
}

// Each line is a value, but empty ones and those that begin with a '#'.
Status ReadLines(const std::string& file, std::string_view key, std::vector<Given>& values) {
  std::ifstream in(file);
  in.peek();  // a directory can be opened
  if (!in.is_open() || in.bad()) return {Code::kIo, fmt::format("cannot read '{}'", file)};
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.front() == '#') continue;
    values.push_back({std::move(line), fmt::format("{}:{}: {}", file, number, key)});
  }
  return {};
}

}  // namespace

void SetOption(const Option& option, const std::vector<Given>& values, const Checks& checks,
               Settings& settings) {
  const auto check = checks.find(option.key);
  if (option.list()) option.kind.clear(settings.config);
  for (const auto& [text, where] : values) {
    settings.origins.push_back({std::string(option.key), text, where});
    if (const Status set = option.kind.set(settings.config, text); !set.ok()) {
      settings.errors.push_back(fmt::format("{}: '{}': {}", where, text, set.message()));
    } else if (check != checks.end()) {
      const Status good = check->second(text);
      if (!good.ok()) settings.errors.push_back(fmt::format("{}: {}", where, good.message()));
    }
  }
}

void ReadConfigFile(const std::string& file, const Checks& checks, Settings& settings) {
  const auto bad = [&](std::string error) { settings.errors.push_back(std::move(error)); };
  std::ifstream in(file);
  in.peek();  // a directory can be opened
  if (!in.is_open() || in.bad()) return bad(fmt::format("--config: cannot read '{}'", file));
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(in);
    if (documents.empty() || documents[0].IsNull()) return;
    const YAML::Node& root = documents[0];
    if (!root.IsMap()) return bad(fmt::format("{}:1: expected 'key: value' lines", file));
    if (documents.size() > 1) {
      return bad(fmt::format("{}:{}: a second document", file, documents[1].Mark().line + 1));
    }
    FileReader(file, checks, settings).ReadMap(root, "");
  } catch (const YAML::Exception& error) {
    bad(fmt::format("{}:{}: {}", file, error.mark.line + 1, error.msg));
  }
}

void ReadEnvironment(const Checks& checks, Settings& settings) {
  for (const Option& option : Options()) {
    const std::string name = VariableOf(option);
    const std::string of_file = FileVariableOf(option);
    const char* text = std::getenv(name.c_str());
    const char* file = std::getenv(of_file.c_str());
    if (text == nullptr && file == nullptr) continue;
    std::vector<Given> values;
    std::string wrong;
    if (text != nullptr && file != nullptr) {
      wrong = name + " is set, too";
    } else if (file != nullptr) {
      wrong = ReadLines(file, option.key, values).message();
    } else if (option.list()) {
      for (const std::string_view part : Split(text, option.kind.separator)) {
        if (!Trimmed(part).empty()) values.push_back({std::string(Trimmed(part)), name});
      }
    } else {
      values.push_back({text, name});
    }
    if (wrong.empty()) wrong = WrongCount(option, values.size());
    if (wrong.empty()) {
      SetOption(option, values, checks, settings);
    } else {
      settings.errors.push_back(fmt::format("{}: {}", file != nullptr ? of_file : name, wrong));
    }
  }
}

std::vector<std::string> UnknownVariables() {
  std::vector<std::string> known;
  for (const Option& option : Options()) {
    known.push_back(VariableOf(option));
    known.push_back(FileVariableOf(option));
  }
  std::vector<std::string> warnings;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view entry(*variable);
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with(kVariablePrefix)) continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    warnings.push_back(
        fmt::format("{}: unknown variable; did you mean {}?", name, Nearest(name, known)));
  }
  return warnings;
}

std::string Located(const Settings& settings, const std::string& message) {
  const std::string_view key = std::string_view(message).substr(0, message.find(' '));
  for (auto origin = settings.origins.rbegin(); origin != settings.origins.rend(); ++origin) {
    if (origin->key != key || message.find(fmt::format("'{}'", origin->text)) == message.npos) {
      continue;
    }
    return fmt::format("{}:{}", origin->where, message.substr(key.size()));
  }
  return message;
}

}  // namespace gearstalk
