#include "admin/ctl/api/completion.h"

#include <fmt/format.h>

#include "admin/ctl/api/command.h"

namespace gearstalk::ctl::api {
namespace {

struct Described {
  const Command& command;
  std::vector<const CLI::Option*> flags;
  std::vector<const CLI::Option*> arguments;
  bool takes_tube = false;
};

// Calls `visit` with each command and its options.
template <typename Visit>
void Describe(Visit visit) {
  for (const Command& command : Commands()) {
    CLI::App app;
    app.set_help_flag();
    command.declare(app);
    Described described{command, {}, {}};
    for (const CLI::Option* option : app.get_options()) {
      (option->get_lnames().empty() ? described.arguments : described.flags).push_back(option);
    }
    described.takes_tube =
        !described.arguments.empty() && described.arguments.front()->get_single_name() == "TUBE";
    visit(described);
  }
}

std::string FlagsOf(const Described& described) {
  std::string flags;
  for (const CLI::Option* flag : described.flags) {
    flags += flags.empty() ? "--" : " --";
    flags += flag->get_lnames().front();
  }
  return flags;
}

constexpr std::string_view kTubes =
    "gearstalkctl tubes --json --limit 500 --timeout 1 2>/dev/null | "
    "grep -o '\"name\":\"[A-Za-z0-9._-]*\"' | cut -d'\"' -f4";

constexpr std::string_view kGlobals =
    "--server --at --config --token-file --ca-file --timeout --color --json --yes --quiet --help";

std::string Bash(const std::string& function) {
  std::string names, cases;
  Describe([&](const Described& described) {
    if (!names.empty()) names += ' ';
    names += described.command.name;
    cases += fmt::format("    {}) words=\"{}\"; tube={} ;;\n", described.command.name,
                         FlagsOf(described), described.takes_tube ? 1 : 0);
  });
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
      function, names, kGlobals, cases, kTubes);
}

std::string Zsh() {
  return "#compdef gearstalkctl\nautoload -U +X bashcompinit && bashcompinit\n" +
         Bash("_gearstalkctl_words") + "complete -F _gearstalkctl_words gearstalkctl";
}

std::string Fish() {
  std::string text = "complete -c gearstalkctl -f\n";
  Describe([&](const Described& described) {
    const std::string_view name = described.command.name;
    text += fmt::format("complete -c gearstalkctl -n __fish_use_subcommand -a {} -d '{}'\n", name,
                        described.command.summary);
    for (const CLI::Option* flag : described.flags) {
      text += fmt::format("complete -c gearstalkctl -n '__fish_seen_subcommand_from {}' -l {}\n",
                          name, flag->get_lnames().front());
    }
    if (described.takes_tube) {
      text += fmt::format(
          "complete -c gearstalkctl -n '__fish_seen_subcommand_from {}' -a \"({})\"\n", name,
          "gearstalkctl tubes --json --limit 500 --timeout 1 2>/dev/null | "
          "string match -ar '\\\"name\\\":\\\"[A-Za-z0-9._-]*\\\"' | "
          "string split -f4 '\\\"'");
    }
  });
  return text;
}

}  // namespace

std::string Completion(const std::string& shell) {
  if (shell == "zsh") return Zsh();
  if (shell == "fish") return Fish();
  return Bash("_gearstalkctl") + "complete -F _gearstalkctl gearstalkctl";
}

}  // namespace gearstalk::ctl::api
