#include "broker/config/foreign.h"

#include <fmt/format.h>

namespace gearstalk {
namespace {

Status Bad(std::string message) { return {Code::kInvalid, std::move(message)}; }

std::string NameOf(const ForeignOption& option) {
  return option.name.empty() ? fmt::format("-{}", option.letter) : fmt::format("--{}", option.name);
}

class Reader {
 public:
  Reader(std::span<const ForeignOption> options, std::span<const std::string> arguments,
         ForeignValues& values)
      : options_(options), arguments_(arguments), values_(values) {}

  Status Read() {
    while (!arguments_.empty()) {
      const std::string_view argument = arguments_.front();
      arguments_ = arguments_.subspan(1);
      Status status;
      if (argument.starts_with("--") && argument.size() > 2) {
        status = ReadLong(argument.substr(2));
      } else if (argument.starts_with("-") && argument.size() > 1) {
        status = ReadLetters(argument.substr(1));
      } else {
        status = Bad(fmt::format("unexpected argument '{}'", argument));
      }
      if (!status.ok()) return status;
    }
    return {};
  }

 private:
  Status ReadLong(std::string_view text) {
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    const ForeignOption* found = nullptr;
    for (const ForeignOption& option : options_) {
      if (option.name == name) {
        found = &option;
        break;
      }
      if (option.name.empty() || !option.name.starts_with(name)) continue;
      if (found != nullptr) return Bad(fmt::format("option '--{}' is ambiguous", name));
      found = &option;
    }
    if (found == nullptr) return Bad(fmt::format("unknown option '--{}'", name));
    if (equals == std::string_view::npos) return Take(*found, "");
    if (!found->takes_value) return Bad(fmt::format("option '--{}' takes no value", name));
    values_[NameOf(*found)] = text.substr(equals + 1);
    return {};
  }

  Status ReadLetters(std::string_view letters) {
    while (!letters.empty()) {
      const ForeignOption* found = nullptr;
      for (const ForeignOption& option : options_) {
        if (option.letter == letters[0]) found = &option;
      }
      if (found == nullptr) return Bad(fmt::format("unknown option '-{}'", letters[0]));
      letters.remove_prefix(1);
      if (Status status = Take(*found, letters); !status.ok()) return status;
      if (found->takes_value) return {};
    }
    return {};
  }

  // `glued` is what follows the letter directly.
  Status Take(const ForeignOption& option, std::string_view glued) {
    std::string& value = values_[NameOf(option)];
    if (!option.takes_value) return {};
    if (!glued.empty()) {
      value = glued;
    } else if (arguments_.empty()) {
      return Bad(fmt::format("option '{}' needs a value", NameOf(option)));
    } else {
      value = arguments_.front();
      arguments_ = arguments_.subspan(1);
    }
    return {};
  }

  const std::span<const ForeignOption> options_;
  std::span<const std::string> arguments_;
  ForeignValues& values_;
};

}  // namespace

Status ReadForeign(std::span<const ForeignOption> options, std::span<const std::string> arguments,
                   ForeignValues& values) {
  return Reader(options, arguments, values).Read();
}

std::vector<std::string> WarningsOf(std::span<const ForeignOption> options,
                                    const ForeignValues& values) {
  std::vector<std::string> warnings;
  for (const ForeignOption& option : options) {
    if (!option.here.empty() || !values.contains(NameOf(option))) continue;
    warnings.push_back(
        fmt::format("'{}' has no counterpart in gearstalkd and no effect", NameOf(option)));
  }
  return warnings;
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

std::string AddressText(std::string_view host, std::string_view port) {
  const bool v6 = host.find(':') != std::string_view::npos && !host.starts_with('[');
  return v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<Translation> TranslateAs(std::string_view program, std::span<const std::string> arguments) {
  if (const std::size_t slash = program.rfind('/'); slash != std::string_view::npos) {
    program.remove_prefix(slash + 1);
  }
  if (program == "beanstalkd") return TranslateBeanstalkd(arguments);
  if (program == "gearmand") return TranslateGearmand(arguments);
  Translation same;
  same.arguments.assign(arguments.begin(), arguments.end());
  return same;
}

}  // namespace gearstalk
