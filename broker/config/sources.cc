#include "broker/config/sources.h"

#include <fmt/format.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

namespace gearstalk {
namespace {

Status Bad(std::string message) { return {Code::kInvalid, std::move(message)}; }

// Edits that turn one word into the other.
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
  // The name alone, without its group, is nearly right.
  const auto distance = [&key](const Option& option) {
    const std::string_view name = option.key.substr(option.key.find('.') + 1);
    return std::min(Distance(key, option.key), Distance(key, name) + 1);
  };
  const auto nearest =
      std::min_element(Options().begin(), Options().end(),
                       [&](const Option& a, const Option& b) { return distance(a) < distance(b); });
  return Bad(fmt::format("{}: unknown key '{}'; did you mean '{}'?", where, key, nearest->key));
}

bool IsGroup(std::string_view key) {
  return std::any_of(Options().begin(), Options().end(), [&](const Option& option) {
    return option.key.size() > key.size() && option.key.starts_with(key) &&
           option.key[key.size()] == '.';
  });
}

class FileReader {
 public:
  FileReader(const std::string& file, const Checks& checks, Settings& settings)
      : file_(file), checks_(checks), settings_(settings) {}

  Status ReadMap(const YAML::Node& map, const std::string& prefix) {
    for (const auto& entry : map) {
      const std::string key = prefix + entry.first.Scalar();
      Status status = entry.second.IsMap() ? ReadMap(entry.second, key + ".")
                                           : ReadEntry(key, entry.first, entry.second);
      if (!status.ok()) return status;
    }
    return {};
  }

 private:
  std::string Line(const YAML::Node& node) const {
    return fmt::format("{}:{}", file_, node.Mark().line + 1);
  }

  Status ReadEntry(const std::string& key, const YAML::Node& name, const YAML::Node& node) {
    const Option* option = FindOption(key);
    if (option == nullptr && IsGroup(key)) return ReadNoMap(key, name, node);
    if (option == nullptr) return UnknownKey(Line(name), key);
    if (!seen_.insert(key).second) {
      return Bad(fmt::format("{}: {}: is there twice", Line(name), key));
    }
    std::vector<Given> values;
    const auto add = [&](const YAML::Node& value, const YAML::Node& line) {
      if (!value.IsScalar()) return false;
      values.push_back({value.Scalar(), fmt::format("{}: {}", Line(line), key)});
      return true;
    };
    bool good = false;
    if (node.IsSequence() && option->list()) {
      // An empty list is a value where the default is one.
      good = node.size() > 0 || option->kind.get(Config()).empty();
      for (const YAML::Node& value : node) {
        if (!add(value, value))
          return Bad(fmt::format("{}: {}: expected a text", Line(value), key));
      }
    } else {
      good = add(node, name);
    }
    if (!good) return Bad(fmt::format("{}: {}: expected a value", Line(name), key));
    return SetOption(*option, values, checks_, settings_);
  }

  // A group of which all is commented out says nothing.
  Status ReadNoMap(const std::string& group, const YAML::Node& name, const YAML::Node& node) {
    if (node.IsNull()) return {};
    return Bad(fmt::format("{}: {}: expected 'key: value' lines below it", Line(name), group));
  }

  const std::string& file_;
  const Checks& checks_;
  Settings& settings_;
  std::set<std::string> seen_;
};

// "a;b; c" at each `separator`; blanks around a part are none of it.
std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    part = part.substr(0, part.find_last_not_of(' ') + 1);
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

}  // namespace

Status SetOption(const Option& option, const std::vector<Given>& values, const Checks& checks,
                 Settings& settings) {
  const auto check = checks.find(option.key);
  if (option.list()) option.kind.clear(settings.config);
  for (const auto& [text, where] : values) {
    settings.origins.push_back({std::string(option.key), text, where});
    Status status = option.kind.set(settings.config, text);
    if (!status.ok()) return Bad(fmt::format("{}: '{}': {}", where, text, status.message()));
    if (check == checks.end()) continue;
    status = check->second(text);
    if (!status.ok()) return Bad(fmt::format("{}: {}", where, status.message()));
  }
  return {};
}

Status ReadConfigFile(const std::string& file, const Checks& checks, Settings& settings) {
  std::ifstream in(file);
  in.peek();  // a directory can be opened
  if (!in.is_open() || in.bad()) return Bad(fmt::format("--config: cannot read '{}'", file));
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(in);
    if (documents.empty() || documents[0].IsNull()) return {};
    const YAML::Node& root = documents[0];
    if (!root.IsMap()) return Bad(fmt::format("{}:1: expected 'key: value' lines", file));
    if (documents.size() > 1) {
      return Bad(fmt::format("{}:{}: a second document", file, documents[1].Mark().line + 1));
    }
    return FileReader(file, checks, settings).ReadMap(root, "");
  } catch (const YAML::Exception& error) {
    return Bad(fmt::format("{}:{}: {}", file, error.mark.line + 1, error.msg));
  }
}

Status ReadEnvironment(const Checks& checks, Settings& settings) {
  for (const Option& option : Options()) {
    const std::string name = VariableOf(option);
    const char* text = std::getenv(name.c_str());
    if (text == nullptr) continue;
    std::vector<Given> values;
    if (option.list()) {
      for (std::string& part : Split(text, option.kind.separator)) {
        values.push_back({std::move(part), name});
      }
    } else {
      values.push_back({text, name});
    }
    if (Status status = SetOption(option, values, checks, settings); !status.ok()) return status;
  }
  return {};
}

std::vector<std::string> UnknownVariables() {
  std::vector<std::string> known;
  for (const Option& option : Options()) known.push_back(VariableOf(option));
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

std::string Nearest(std::string_view word, const std::vector<std::string>& known) {
  return *std::min_element(known.begin(), known.end(),
                           [&](const std::string& a, const std::string& b) {
                             return Distance(word, a) < Distance(word, b);
                           });
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
