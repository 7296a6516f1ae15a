#include "admin/ctl/api/completion.h"

#include <fmt/format.h>

#include "admin/ctl/api/command.h"

namespace gearstalk::ctl::api {
namespace {

// The first argument is a tube.
bool TakesTube(const Command& command) {
  for (const Parameter& parameter : command.call.parameters) {
    if (!parameter.has_name()) return parameter.name == "TUBE";
  }
  return false;
}

// "--one --two".
std::string FlagsOf(const Parameters& parameters) {
  std::string flags;
  for (const Parameter& parameter : parameters) {
    if (!parameter.has_name()) continue;
    if (!flags.empty()) flags += ' ';
    flags += parameter.name;
  }
  return flags;
}

constexpr std::string_view kTubeNames =
    "gearstalkctl tubes --json --limit 500 --timeout 1 2>/dev/null | "
    "grep -o '\"name\":\"[A-Za-z0-9._-]*\"' | cut -d'\"' -f4";

std::string Bash(const std::string& function) {
  Settings settings;
  const std::string globals = FlagsOf(GlobalParameters(settings)) + " --help";
  std::string names, cases;
  for (const Command& command : Commands()) {
    if (!names.empty()) names += ' ';
    names += command.name;
    cases += fmt::format("    {}) words=\"{}\"; tube={} ;;\n", command.name,
                         FlagsOf(command.call.parameters), TakesTube(command) ? 1 : 0);
  }
  return fmt::format(
      "{0}() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" command=\"\" words=\"\" tube=0 i\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case \" {1} \" in *\" ${{COMP_WORDS[i]}} \"*) command=\"${{COMP_WORDS[i]}}\"; break ;; "
      "esac\n"
      "  done\n"
      "  case \"$command\" in\n"
      "    \"\") words=\"{1} {2}\" ;;\n"
      "{3}"
      "  esac\n"
      "  [ -n \"$command\" ] && words=\"$words {2}\"\n"
      "  if [ $tube = 1 ] && [ $COMP_CWORD = $((i + 1)) ] && [ \"${{current:0:1}}\" != - ]; then\n"
      "    words=\"$({4})\"\n"
      "  fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "}}\n",
      function, names, globals, cases, kTubeNames);
}

std::string Zsh() {
  return "#compdef gearstalkctl\nautoload -U +X bashcompinit && bashcompinit\n" +
         Bash("_gearstalkctl_words") + "complete -F _gearstalkctl_words gearstalkctl";
}

std::string Fish() {
  std::string text = "complete -c gearstalkctl -f\n";
  for (const Command& command : Commands()) {
    text += fmt::format("complete -c gearstalkctl -n __fish_use_subcommand -a {} -d '{}'\n",
                        command.name, command.summary);
    for (const Parameter& parameter : command.call.parameters) {
      if (!parameter.has_name()) continue;
      text += fmt::format("complete -c gearstalkctl -n '__fish_seen_subcommand_from {}' -l {}\n",
                          command.name, parameter.name.substr(2));
    }
    if (TakesTube(command)) {
      text +=
          fmt::format("complete -c gearstalkctl -n '__fish_seen_subcommand_from {}' -a \"({})\"\n",
                      command.name,
                      "gearstalkctl tubes --json --limit 500 --timeout 1 2>/dev/null | "
                      "string match -ar '\\\"name\\\":\\\"[A-Za-z0-9._-]*\\\"' | "
                      "string split -f4 '\\\"'");
    }
  }
  return text;
}

}  // namespace

std::string Completion(const std::string& shell) {
  if (shell == "zsh") return Zsh();
  if (shell == "fish") return Fish();
  return Bash("_gearstalkctl") + "complete -F _gearstalkctl gearstalkctl";
}

}  // namespace gearstalk::ctl::api
