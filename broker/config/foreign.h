#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/status.h"
#include "broker/config/command_line.h"

namespace gearstalk {

// An option of another server, in that server's syntax.
struct ForeignOption {
  char letter;            // '\0': none
  std::string_view name;  // of the long form; empty: none
  bool takes_value;
  std::string_view here;  // the option of ours; empty: it has no counterpart
};

// By "-p" or "--port": the long form where there is one. The last value counts.
using ForeignValues = std::map<std::string, std::string, std::less<>>;

// The option's value; without one `otherwise`.
std::string ValueOr(const ForeignValues& values, std::string_view option,
                    std::string_view otherwise);
Result<std::uint64_t> NumberOr(const ForeignValues& values, std::string_view option,
                               std::uint64_t otherwise);

// Options as getopt has them: -pVALUE, -p VALUE, --port VALUE, --port=VALUE; letters without values
// may be joined, and long names cut as far as they are unique. Unknown ones are errors.
Status ReadForeign(std::span<const ForeignOption> options, std::span<const std::string> arguments,
                   ForeignValues& values);

// A command line of another server in our options.
struct Translation {
  std::vector<std::string> arguments;  // without the program's name
  FlagNames names;                     // the option that was given, by our flag
  std::vector<std::string> warnings;   // one for each option that has no effect
  std::string help;                    // to be printed instead of serving; empty: not asked for
};

// The versions that clients of those servers are told: those of the servers whose behaviour is
// followed.
inline constexpr std::string_view kBeanstalkdVersion = "1.13";
inline constexpr std::string_view kGearmandVersion = "1.1.20";

Result<Translation> TranslateBeanstalkd(std::span<const std::string> arguments);
Result<Translation> TranslateGearmand(std::span<const std::string> arguments);

// Translates from the server whose name the program was called by, "beanstalkd" or "gearmand".
// Under any other name the arguments are ours and stay as they are.
Result<Translation> TranslateAs(std::string_view program, std::span<const std::string> arguments);

// The exit code after wrong usage: gearmand's own, else ours.
int BadUsageExitOf(std::string_view program);

// For those two: sets a flag of ours; `name` is the option that asked for it.
void AddFlag(Translation& translation, std::string flag, std::string value, std::string_view name);
// The same with the value of that option, if it was given.
void PassFlag(Translation& translation, const ForeignValues& values, std::string_view name,
              std::string flag);
// One warning for each of `values` without a counterpart, and the help.
void AddWarnings(Translation& translation, std::span<const ForeignOption> options,
                 const ForeignValues& values);
std::string HelpOf(std::string_view program, std::span<const ForeignOption> options);
// ADDR:PORT as `listen` wants it.
std::string AddressText(std::string_view host, std::string_view port);

}  // namespace gearstalk
