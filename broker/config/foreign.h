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

// A command line of another server in our options.
struct Translation {
  std::vector<std::string> arguments;  // without the program's name
  FlagNames names;                     // the option that was given, by our flag
  std::vector<std::string> warnings;   // one for each option that has no effect
  std::string help;                    // to be printed instead of serving; empty: not asked for
};

Result<Translation> TranslateBeanstalkd(std::span<const std::string> arguments);
Result<Translation> TranslateGearmand(std::span<const std::string> arguments);

// Translates from the server whose name the program was called by, "beanstalkd" or "gearmand".
// Under any other name the arguments are ours and stay as they are.
Result<Translation> TranslateAs(std::string_view program, std::span<const std::string> arguments);

// The exit code after wrong usage: gearmand's own, else ours.
int BadUsageExitOf(std::string_view program);

// For those two: the options that were given, and their translation. `name` is the server's option,
// "-p" or "--port": the long form where there is one; "": none asked for it.
class Translator {
 public:
  // `program` is the server's name.
  Translator(std::string_view program, std::span<const ForeignOption> options)
      : program_(program), options_(options) {}

  // Options as getopt has them: -pVALUE, -p VALUE, --port VALUE, --port=VALUE; letters without
  // values may be joined, and long names cut as far as they are unique. Unknown ones are errors.
  // The last value counts, but those of an earlier call outweigh it.
  Status Read(std::span<const std::string> arguments);
  bool Has(std::string_view name) const { return given_.contains(name); }
  // The option's value; without one `otherwise`.
  std::string Value(std::string_view name, std::string_view otherwise) const;
  Result<std::uint64_t> Number(std::string_view name, std::uint64_t otherwise) const;

  // Whether one of these options asks for no more than the help or the version.
  bool AsksOnly(std::string_view help, std::string_view version);
  // Sets a flag of ours, for which `name` asked.
  void Add(std::string flag, std::string value, std::string_view name);
  // The same with the value of that option, if it was given.
  void Pass(std::string_view name, std::string flag);
  void Ask(std::string flag) { out_.arguments.push_back(std::move(flag)); }
  void Warn(std::string warning) { out_.warnings.push_back(std::move(warning)); }
  // Sets the versions that clients are told, and warns of each option that has no counterpart.
  void Finish();
  Translation Take() { return std::move(out_); }

 private:
  const std::string_view program_;
  const std::span<const ForeignOption> options_;
  std::map<std::string, std::string, std::less<>> given_;
  Translation out_;
};

// ADDR:PORT as `listen` wants it.
std::string AddressText(std::string_view host, std::string_view port);

}  // namespace gearstalk
