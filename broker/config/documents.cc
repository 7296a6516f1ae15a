// Prints the tables of options and of policy keys as the documents have them, for scripts/generate:
// documents markdown | yaml | policies. No part of the broker.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/split.h"
#include "broker/config/option.h"
#include "broker/policy/policy.h"

namespace gearstalk {
namespace {

constexpr std::string_view kYamlHead =
    "# gearstalkd's configuration. Every option stands here behind a #, with its default, or with\n"
    "# an example where it has none: remove the # to set it. Flags and GEARSTALKD_... variables\n"
    "# outweigh this file. `gearstalkd --config FILE --check-config` says whether it is good.\n"
    "# Options marked with \"restart\" need one; all others are applied at SIGHUP.\n";

std::string_view WhenChanged(const Option& option) {
  switch (option.apply) {
    case Apply::kRestart:
      return "needs a restart";
    case Apply::kTls:
      return "for new connections";
    default:
      return "at once";
  }
}

std::vector<std::string> DefaultsOf(const Option& option) { return option.kind.get(Config()); }

std::string DefaultText(const Option& option, std::string_view quote) {
  const std::vector<std::string> values = DefaultsOf(option);
  if (values.empty()) return fmt::format("none: {}", option.unset);
  return fmt::format("{}{}{}", quote, fmt::join(values, fmt::format("{0}, {0}", quote)), quote);
}

// "4096 to 1073741824 bytes", or nothing.
std::string RangeText(const Option& option) {
  const std::string& unit = option.kind.unit;
  if (option.kind.range.empty()) return "";
  return unit.empty() ? option.kind.range : fmt::format("{} {}", option.kind.range, unit);
}

// `text` in lines of at most 98 columns, each after `head`.
std::string Wrapped(std::string_view text, std::string_view head) {
  std::string all;
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) all += fmt::format("{}{}\n", head, line);
    line.clear();
  };
  for (const std::string_view word : Split(text, ' ')) {
    if (head.size() + line.size() + 1 + word.size() > 98) flush();
    line += line.empty() ? "" : " ";
    line += word;
  }
  flush();
  return all;
}

std::string YamlEntry(const Option& option, std::string_view indent, std::string_view name) {
  std::string about(option.help);
  if (const std::string range = RangeText(option); !range.empty()) about += " " + range + ".";
  const bool words = option.kind.shape.find('|') != std::string::npos;
  if (words && !option.list()) about += fmt::format(" {}.", option.kind.shape);
  if (option.apply == Apply::kRestart) about += " (restart)";
  std::string text = Wrapped(about, fmt::format("{}# ", indent));
  const std::vector<std::string> values = DefaultsOf(option);
  if (values.empty())
    text += Wrapped(fmt::format("Default: {}.", option.unset), fmt::format("{}# ", indent));
  // Behind a #: a copy of the file keeps no old default when a version changes one.
  if (option.list()) {
    text += fmt::format("{}#{}:\n", indent, name);
    for (const std::string& value : values) {
      const std::string_view quote = value.starts_with('[') ? "\"" : "";  // no list of YAML's
      text += fmt::format("{}#  - {}{}{}\n", indent, quote, value, quote);
    }
    if (values.empty()) text += fmt::format("{}#  - \"{}\"\n", indent, option.example);
  } else {
    text += fmt::format("{}#{}: {}\n", indent, name,
                        values.empty() ? std::string(option.example) : values[0]);
  }
  return text;
}

// `text` with a backslash before each of `special`.
std::string Escaped(std::string_view text, std::string_view special) {
  std::string escaped;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string InTable(std::string_view text) { return Escaped(text, "|"); }

// The part of docs/configuration.md between its marks.
std::string OptionsAsMarkdown() {
  std::string text;
  const auto out = std::back_inserter(text);
  for (const Option& option : Options()) {
    fmt::format_to(out, "### {}\n\n{}\n", option.key, Wrapped(option.help, ""));
    fmt::format_to(out, "| value | `{}` |\n|---|---|\n", InTable(option.kind.shape));
    if (const std::string range = RangeText(option); !range.empty()) {
      fmt::format_to(out, "| range | {} |\n", range);
    }
    fmt::format_to(out, "| default | {} |\n", DefaultText(option, "`"));
    fmt::format_to(out, "| flag, variable | `{}`, `{}` |\n", FlagOf(option), VariableOf(option));
    fmt::format_to(out, "| changed at SIGHUP | {} |\n\n", WhenChanged(option));
  }
  return text;
}

// admin/packaging/gearstalkd.yaml: every option with its default.
std::string OptionsAsYaml() {
  std::string text(kYamlHead);
  std::string group;
  for (const Option& option : Options()) {
    std::string_view name = option.key;
    const std::size_t dot = name.find('.');
    const std::string_view prefix = dot == std::string_view::npos ? "" : name.substr(0, dot);
    text += '\n';
    // Without a #: who sets an option of the group changes the option's line only.
    if (!prefix.empty() && prefix != group) text += fmt::format("{}:\n", prefix);
    group = prefix;
    if (!prefix.empty()) name.remove_prefix(dot + 1);
    text += YamlEntry(option, prefix.empty() ? "" : "  ", name);
  }
  return text;
}

// The part of docs/policies.md between its marks.
std::string PoliciesAsMarkdown() {
  std::string text = "| key | value | default | |\n|---|---|---|---|\n";
  const Policy defaults;
  for (const PolicyKey& key : PolicyKeys()) {
    fmt::format_to(std::back_inserter(text), "| `{}` | {} | `{}` | {} |\n", key.name,
                   InTable(key.shape), key.form.print(defaults), key.help);
  }
  return text + "\n";
}

}  // namespace
}  // namespace gearstalk

int main(int argc, char** argv) {
  const std::string_view form = argc == 2 ? argv[1] : "";
  std::string text;
  if (form == "markdown") text = gearstalk::OptionsAsMarkdown();
  if (form == "yaml") text = gearstalk::OptionsAsYaml();
  if (form == "policies") text = gearstalk::PoliciesAsMarkdown();
  if (text.empty()) std::fputs("documents markdown | yaml | policies\n", stderr);
  return text.empty() || std::fputs(text.c_str(), stdout) < 0 ? 1 : 0;
}
