#include "broker/config/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "broker/base/near_names.h"

namespace gearstalk {
namespace {

// In place of a directory: the journal that the options name.
bool IsReplica(std::string_view journal) { return journal == "etcd" || journal == "postgres"; }

Status BadCall(std::string message) { return {Code::kInvalid, std::move(message)}; }

// Otherwise a script whose variable is unset would start a broker.
std::string MustBeNamed(const std::string& text) { return text.empty() ? "expected a name" : ""; }

// The command line as CLI11 parses it.
struct Flags {
  CLI::App app{"A job broker that speaks the beanstalk and the Gearman protocol.", "gearstalkd"};
  std::string file;
  bool check = false;
  bool version = false;
  std::string journal_to_check;
  std::string journal_to_salvage;
  std::string export_to;
  std::string import_from;
  bool upgrade = false;
  std::vector<std::vector<std::string>> values{Options().size()};  // by option

  Flags();
};

Flags::Flags() {
  const auto add = [this](const char* flag, std::string& value, const char* type,
                          const char* help) {
    return app.add_option(flag, value, help)->type_name(type)->check(MustBeNamed);
  };
  add("--config", file, "FILE", "Configuration file (YAML).");
  app.add_flag("--check-config", check,
               "Check the configuration and all that it names, print every error, and exit.");
  app.add_flag("--version", version, "Print the version, and those of the libraries; exit.");
  add("--journal-check", journal_to_check, "DIR|etcd|postgres",
      "List what is in a journal, and all damage; exit. `etcd` or `postgres`: in the replicated "
      "one.");
  add("--journal-salvage", journal_to_salvage, "DIR",
      "Make a new journal from all that can be read of a damaged one; exit.")
      ->excludes("--journal-check");
  add("--journal-export", export_to, "DIR",
      "Write the replicated journal into a new journal directory; exit.")
      ->excludes("--journal-check");
  add("--journal-import", import_from, "DIR",
      "Write a journal directory into a replicated journal that is not used yet; exit.")
      ->excludes("--journal-check")
      ->excludes("--journal-export");
  app.add_flag("--journal-upgrade", upgrade,
               "Raise the format of the replicated journal, when all brokers know it; exit.");
  for (std::size_t i = 0; i < Options().size(); ++i) {
    const Option& option = Options()[i];
    app.add_option(FlagOf(option), values[i], std::string(option.help))
        ->type_name(option.kind.shape)
        ->expected(1)
        ->multi_option_policy(option.list() ? CLI::MultiOptionPolicy::TakeAll
                                            : CLI::MultiOptionPolicy::TakeLast);
  }
}

void SetFlags(const Flags& flags, const Checks& checks, const FlagNames& names,
              Settings& settings) {
  for (std::size_t i = 0; i < Options().size(); ++i) {
    if (flags.values[i].empty()) continue;
    const Option& option = Options()[i];
    std::vector<Given> values;
    const auto name = names.find(FlagOf(option));
    for (const std::string& text : flags.values[i]) {
      values.push_back({text, name == names.end() ? FlagOf(option) : name->second});
    }
    SetOption(option, values, checks, settings);
  }
}

Status Unexpected(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) known.push_back(option->get_name());
  for (const std::string& word : app.remaining()) {
    if (!word.starts_with("--")) continue;
    const std::string flag = word.substr(0, word.find('='));
    return BadCall(
        fmt::format("unknown flag '{}'; did you mean '{}'?", flag, Nearest(flag, known)));
  }
  return BadCall(fmt::format("unexpected argument '{}'", app.remaining().front()));
}

}  // namespace

Result<CommandLine> ReadCommandLine(int argc, const char* const* argv, const Checks& checks,
                                    const FlagNames& names) {
  using Action = CommandLine::Action;
  Flags flags;
  CommandLine line;
  try {
    flags.app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    line.action = Action::kPrintAndExit;
    line.text = flags.app.help();
    return line;
  } catch (const CLI::ExtrasError&) {
    return Unexpected(flags.app);
  } catch (const CLI::ParseError& error) {
    return BadCall(error.what());
  }
  if (flags.version) {
    line.action = Action::kPrintVersion;
    return line;
  }
  if (!flags.journal_to_check.empty() && !IsReplica(flags.journal_to_check)) {
    line.action = Action::kCheckJournal;
    line.text = flags.journal_to_check;
    return line;
  }
  if (!flags.journal_to_salvage.empty()) {
    line.action = Action::kSalvageJournal;
    line.text = flags.journal_to_salvage;
    return line;
  }
  line.settings.file = flags.file;
  if (!flags.file.empty()) ReadConfigFile(flags.file, checks, line.settings);
  ReadEnvironment(checks, line.settings);
  SetFlags(flags, checks, names, line.settings);
  if (flags.check) line.action = Action::kCheckConfig;
  if (IsReplica(flags.journal_to_check)) line.action = Action::kCheckReplica;
  if (!flags.export_to.empty()) line.action = Action::kExportReplica;
  if (!flags.import_from.empty()) line.action = Action::kImportReplica;
  if (flags.upgrade) line.action = Action::kUpgradeReplica;
  line.text = flags.journal_to_check + flags.export_to + flags.import_from;
  return line;
}

}  // namespace gearstalk
