// What needs no broker's jobs: who am I, new tokens, completions.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <array>
#include <string>

#include "admin/ctl/api/api.h"
#include "admin/ctl/api/fields.h"
#include "admin/ctl/api/text.h"
#include "broker/base/base64.h"
#include "broker/version.h"

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
  std::vector<std::string_view> flags;
  for (const Parameter& parameter : parameters) {
    if (parameter.has_name()) flags.push_back(parameter.name);
  }
  return fmt::format("{}", fmt::join(flags, " "));
}

constexpr std::string_view kTubeNames =
    "gearstalkctl tubes --json --limit 500 --timeout 1 2>/dev/null | "
    "grep -o '\"name\":\"[A-Za-z0-9._-]*\"' | cut -d'\"' -f4";

std::string Bash(const std::string& function) {
  Settings settings;
  const std::string globals = FlagsOf(GlobalParameters(settings)) + " --help";
  std::vector<std::string_view> names;
  std::string cases;
  for (const Command& command : Commands()) {
    names.push_back(command.name);
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
      "}}\n"
      "complete -F {0} gearstalkctl",
      function, fmt::join(names, " "), globals, cases, kTubeNames);
}

std::string Zsh() {
  return "#compdef gearstalkctl\nautoload -U +X bashcompinit && bashcompinit\n" +
         Bash("_gearstalkctl_words");
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

int WhoAmI(Api& api) {
  return Print(api, api.Get("/session"), [](const Json& now) {
    Say(fmt::format("{} {}{} on {} via {}", Word(now, "user"), Word(now, "role"),
                    now.value("bodies", false) ? "+bodies" : "", Word(now, "tubes"),
                    Word(now, "via")));
  });
}

// --- token

std::string OneWord(const std::string& text) {
  const bool one = !text.empty() && text.find_first_of(" \t\r\n") == std::string::npos;
  return one ? "" : "expected a word without blanks";
}
const Rules kOneWord{.check = OneWord};

struct TokenOptions {
  std::string name, role, tubes;
  bool bodies = false;

  Parameters AsParameters() {
    return {
        {"NAME", &name, "Name of the user", {.required = true, .check = OneWord}},
        {"ROLE", &role, "viewer, operator or admin", OneOf({"viewer", "operator", "admin"}, true)},
        {"--bodies", &bodies, "May see bodies"},
        {"--tubes", &tubes, "Shell patterns of the tubes that the user sees, with commas",
         kOneWord}};
  }
};

std::string NewToken() {
  std::array<unsigned char, 32> bytes{};
  GS_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  return "gst_" + ToBase64Url({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string Sha256Hex(std::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data());
  return fmt::format("{:02x}", fmt::join(hash, ""));
}

int Token(const Settings& settings, TokenOptions& options) {
  const std::string token = NewToken();
  std::string line = fmt::format("{} {}{} sha256:{}", options.name, options.role,
                                 options.bodies ? "+bodies" : "", Sha256Hex(token));
  if (!options.tubes.empty()) line += " " + options.tubes;
  if (settings.json) {
    Say(Json{{"token", token}, {"user", line}}.dump());
  } else {
    Say(token);
    Say(line);
  }
  return kDone;
}

struct CompletionOptions {
  std::string shell;

  Parameters AsParameters() {
    return {{"SHELL", &shell, "bash, zsh or fish", OneOf({"bash", "zsh", "fish"}, true)}};
  }
};

int PrintCompletion(const Settings& /*settings*/, CompletionOptions& options) {
  const bool zsh = options.shell == "zsh", fish = options.shell == "fish";
  Say(zsh ? Zsh() : fish ? Fish() : Bash("_gearstalkctl"));
  return kDone;
}

int Version(const Settings& settings) {
  Say(settings.json ? Json{{"version", kVersion}}.dump()
                    : fmt::format("gearstalkctl {}", kVersion));
  return kDone;
}

}  // namespace

std::vector<Command> LocalCommands() {
  return {
      {"whoami", "Show what the server lets you do", "gearstalkctl whoami", BindApi(WhoAmI)},
      {"token", "Make a token, and the line for console.users",
       "gearstalkctl token ann operator --bodies", Bind<TokenOptions>(Token)},
      {"completion", "Print completions for a shell", "gearstalkctl completion bash",
       Bind<CompletionOptions>(PrintCompletion)},
      {"version", "Print the version", "gearstalkctl version", {{}, Version}},
  };
}

}  // namespace gearstalk::ctl::api
