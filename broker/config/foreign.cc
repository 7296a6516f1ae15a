#include "broker/config/foreign.h"

#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>

#include "broker/base/split.h"

namespace gearstalk {
namespace {

Status Bad(std::string message) { return {Code::kInvalid, std::move(message)}; }

std::string_view BaseName(std::string_view program) {
  return program.substr(program.rfind('/') + 1);
}

std::string NameOf(const ForeignOption& option) {
  return option.name.empty() ? fmt::format("-{}", option.letter) : fmt::format("--{}", option.name);
}

// The arguments of getopt_long. The code of an option without a letter is its index, beyond all
// letters.
struct Grammar {
  static constexpr int kFirstLong = 256;

  explicit Grammar(std::span<const ForeignOption> options) {
    for (std::size_t i = 0; i < options.size(); ++i) {
      const ForeignOption& option = options[i];
      if (option.letter != '\0') {
        letters += option.letter;
        if (option.takes_value) letters += ':';
      }
      if (option.name.empty()) continue;
      longs.push_back({option.name.data(), option.takes_value ? required_argument : no_argument,
                       nullptr, kFirstLong + static_cast<int>(i)});
    }
    longs.push_back({});
  }

  std::string letters = "+:";  // stops at the first argument that is no option
  std::vector<::option> longs;
};

const ForeignOption* Found(std::span<const ForeignOption> options, int code) {
  if (code == 0) return nullptr;  // getopt_long found no option at all
  if (code >= Grammar::kFirstLong) {
    return &options[static_cast<std::size_t>(code - Grammar::kFirstLong)];
  }
  const auto at = std::ranges::find(options, code, &ForeignOption::letter);
  return at == options.end() ? nullptr : &*at;
}

// Why getopt_long refused `word`. `known` is the option that it stands for, or nullptr.
Status NotTaken(std::span<const ForeignOption> options, const ForeignOption* known,
                std::string_view word) {
  if (!word.starts_with("--")) {
    return Bad(fmt::format("unknown option '-{}'", static_cast<char>(optopt)));
  }
  word = word.substr(0, word.find('='));
  if (known != nullptr) return Bad(fmt::format("option '{}' takes no value", word));
  const auto begins = [&](const ForeignOption& option) {
    return option.name.starts_with(word.substr(2));
  };
  const bool several = std::count_if(options.begin(), options.end(), begins) > 1;
  return Bad(several ? fmt::format("option '{}' is ambiguous", word)
                     : fmt::format("unknown option '{}'", word));
}

std::string HelpOf(std::string_view program, std::span<const ForeignOption> options) {
  std::string text = fmt::format(
      "gearstalkd in the place of {}: it takes these options of that server.\n"
      "Behind each stands the option of gearstalkd that it sets.\n\n",
      program);
  for (const ForeignOption& option : options) {
    const std::string letter =
        option.letter == '\0' ? std::string() : fmt::format("-{}", option.letter);
    const std::string name = option.name.empty() ? "" : fmt::format("--{}", option.name);
    const std::string names =
        fmt::format("{}{}{}{}", letter, letter.empty() || name.empty() ? "" : ", ", name,
                    option.takes_value ? " VALUE" : "");
    text += fmt::format("  {:<32} {}\n", names, option.here.empty() ? "no effect" : option.here);
  }
  return text;
}

}  // namespace

Status Translator::Read(std::span<const std::string> arguments) {
  const Grammar grammar(options_);
  std::map<std::string, std::string, std::less<>> values;
  std::vector<std::string> words(arguments.begin(), arguments.end());
  std::vector<char*> argv = {const_cast<char*>("")};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int count = static_cast<int>(argv.size()) - 1;
  optind = 0;  // glibc: begins anew
  for (;;) {
    const int at = std::max(optind, 1);
    const int code =
        getopt_long(count, argv.data(), grammar.letters.c_str(), grammar.longs.data(), nullptr);
    if (code == -1) break;
    const ForeignOption* const found = Found(options_, code == '?' || code == ':' ? optopt : code);
    if (code == ':') return Bad(fmt::format("option '{}' needs a value", NameOf(*found)));
    if (code == '?') return NotTaken(options_, found, argv[static_cast<std::size_t>(at)]);
    values[NameOf(*found)] = found->takes_value ? optarg : "";
  }
  given_.merge(values);
  if (optind == count) return {};
  return Bad(fmt::format("unexpected argument '{}'", argv[static_cast<std::size_t>(optind)]));
}

std::string Translator::Value(std::string_view name, std::string_view otherwise) const {
  const auto found = given_.find(name);
  return found == given_.end() ? std::string(otherwise) : found->second;
}

Result<std::uint64_t> Translator::Number(std::string_view name, std::uint64_t otherwise) const {
  const auto found = given_.find(name);
  if (found == given_.end() || ParseNumber(found->second, otherwise)) return otherwise;
  return Bad(fmt::format("{}: '{}': expected a number", name, found->second));
}

bool Translator::AsksOnly(std::string_view help, std::string_view version) {
  if (Has(help)) out_.help = HelpOf(program_, options_);
  if (!Has(help) && Has(version)) Ask("--version");
  return Has(help) || Has(version);
}

void Translator::Add(std::string flag, std::string value, std::string_view name) {
  out_.names[flag] = name;
  out_.arguments.push_back(std::move(flag));
  out_.arguments.push_back(std::move(value));
}

void Translator::Pass(std::string_view name, std::string flag) {
  if (Has(name)) Add(std::move(flag), Value(name, ""), name);
}

// The versions are those of the servers whose behaviour is followed.
void Translator::Finish() {
  Add("--beanstalk-version", "1.13", "");
  Add("--gearman-version", "1.1.20", "");
  for (const ForeignOption& option : options_) {
    if (!option.here.empty() || !Has(NameOf(option))) continue;
    Warn(fmt::format("'{}' has no counterpart in gearstalkd and no effect", NameOf(option)));
  }
}

std::string AddressText(std::string_view host, std::string_view port) {
  const bool v6 = host.find(':') != std::string_view::npos && !host.starts_with('[');
  return v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

int BadUsageExitOf(std::string_view program) { return BaseName(program) == "gearmand" ? 1 : 2; }

Result<Translation> TranslateAs(std::string_view program, std::span<const std::string> arguments) {
  program = BaseName(program);
  if (program == "beanstalkd") return TranslateBeanstalkd(arguments);
  if (program == "gearmand") return TranslateGearmand(arguments);
  Translation same;
  same.arguments.assign(arguments.begin(), arguments.end());
  return same;
}

}  // namespace gearstalk
