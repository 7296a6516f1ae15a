#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "broker/base/status.h"
#include "broker/base/utf8.h"

// Commands as rows, from which the command line, its help and the completions are made. Only
// api/run.cc sees the library that reads command lines.
namespace gearstalk::ctl {

// The exit codes of all commands; docs/gearstalkctl.md has them as a table. 3, 4 and 5 differ
// between the commands that ask the API and those that move jobs: both are promised.
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;  // refused, or could not; the output cannot be written
inline constexpr int kBadUsage = 2;

// Commands that ask the API.
inline constexpr int kNotReachable = 3;  // no server, or no answer
inline constexpr int kNotAllowed = 4;
inline constexpr int kNotFound = 5;
inline constexpr int kNotConfirmed = 6;  // by the user, or the number differs

// Commands that move jobs. After kFailed the same command continues.
inline constexpr int kDoneWithRest = 3;  // some jobs were left, refused, joined, altered, uncertain
inline constexpr int kDamaged = 4;       // the source is damaged; nothing was done
inline constexpr int kSourceInUse = 5;   // the source is in use, or not the one that the mark knows

inline int ExitOf(const Status& status) {
  switch (status.code()) {
    case Code::kOk:
      return kDone;
    case Code::kInvalid:
      return kBadUsage;
    case Code::kCorrupt:
      return kDamaged;
    case Code::kInUse:
      return kSourceInUse;
    default:
      return kFailed;
  }
}

// A line on standard error behind the program's name, escaped by Visible. Returns false, for
// whoever reports a failure.
inline bool Tell(std::string_view message) {
  const std::string line = "gearstalkctl: " + Visible(message) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  return false;
}
// Tells why a command fails, and returns its exit code.
inline int Fail(int exit_code, std::string_view message) {
  Tell(message);
  return exit_code;
}
inline int Fail(const Status& status) { return Fail(ExitOf(status), status.message()); }

namespace api {
struct Settings;
}

// Where the value of a parameter goes. A bool is a flag; a list takes several values.
using Value =
    std::variant<bool*, int*, std::uint32_t*, std::uint64_t*, double*, std::string*,
                 std::optional<std::uint64_t>*, std::optional<double>*, std::optional<std::string>*,
                 std::vector<std::uint64_t>*, std::vector<std::string>*>;

enum class Sign { kAny, kNotNegative, kPositive };

struct Range {
  double low, high;
};

// What a parameter asks for besides the type of its value. Names are those of parameters before it.
struct Rules {
  bool required = false;
  Sign sign = Sign::kAny;
  std::optional<Range> range{};
  std::vector<std::string> one_of{};
  std::string (*check)(const std::string& text) = nullptr;  // returns the error; empty: none
  std::string_view excludes{}, needs{};
  int most = 1;               // words of a list without a name
  const char* value_alone{};  // of an option that may stand without a value
  bool value_in_help = false;
};

inline const Rules kRequired{.required = true};
inline const Rules kPositive{.sign = Sign::kPositive};
inline const Rules kNotNegative{.sign = Sign::kNotNegative};
inline Rules Between(double low, double high) { return {.range = {{low, high}}}; }
inline Rules OneOf(std::vector<std::string> words, bool required = false) {
  return {.required = required, .one_of = std::move(words)};
}

// "TUBE", told by its place, or "--limit", told by its name.
struct Parameter {
  std::string_view name;
  Value value;
  std::string_view help;
  Rules rules{};

  bool has_name() const { return name.starts_with("--"); }
};
using Parameters = std::vector<Parameter>;

// What a command does when its parameters are read; returns the exit code.
using Action = std::function<int(const api::Settings& settings)>;

// Parameters, and an action that owns what they point to.
struct Call {
  Parameters parameters;
  Action run;
  bool asks_api = true;  // false: settings of the API are refused
};

// The call of a function with options: a struct whose AsParameters() says how its members are set.
template <typename Options>
Call Bind(std::function<int(const api::Settings& settings, Options& options)> run) {
  const auto options = std::make_shared<Options>();
  return {options->AsParameters(), [options, run = std::move(run)](const api::Settings& settings) {
            return run(settings, *options);
          }};
}

// One sub-command.
struct Command {
  std::string_view name;
  std::string_view summary;  // one line, for --help and completions
  std::string_view example;  // a call that works, for --help
  Call call;
  std::vector<std::string> aliases{};
};

}  // namespace gearstalk::ctl
