#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/status.h"
#include "broker/config/config.h"

namespace gearstalk {

// What a changed option changes in a running broker.
enum class Apply : std::uint8_t {
  kRestart,  // nothing: it needs a restart
  kLog,
  kJobSize,
  kLimits,
  kMaxQueue,
  kTls,
  kStore,  // of the replicated journal
  kRights,
  kShutdownFrom,
  kMetrics,
  kGearman,
  kConsole,
  kPolicies,
};

// How an option's value is written, read and printed.
struct Kind {
  std::string shape;       // for help: BYTES, SECONDS, off|optional|required
  std::string unit = {};   // of a number, "" for others
  std::string range = {};  // of a number, "" for others
  // Sets the field; a message says what a good value is. Adds to the field of a list.
  std::function<Status(Config&, std::string_view)> set;
  // The field as text. Nothing: there is no value until one is given.
  std::function<std::vector<std::string>(const Config&)> get;
  // Makes the field of the second one like that of the first one.
  std::function<void(const Config&, Config&)> copy;
  // Of lists only.
  std::function<void(Config&)> clear = {};
  char separator = '\0';  // between the values in an environment variable
};

// One option: what it is called in the file ("gearman.job_retries"), from which flag and variable
// are derived (--gearman-job-retries, GEARSTALKD_GEARMAN_JOB_RETRIES), and all there is to say
// about it. Its default is the one of the struct.
struct Option {
  std::string_view key;
  Apply apply;
  Kind kind;
  std::string_view help;
  std::string_view unset = {};    // what holds when there is no value and no default
  std::string_view example = {};  // of a value, where there is no default

  bool list() const { return kind.clear != nullptr; }
};

std::span<const Option> Options();
// nullptr: there is none.
const Option* FindOption(std::string_view key);

inline constexpr std::string_view kVariablePrefix = "GEARSTALKD_";
std::string FlagOf(const Option& option);
std::string VariableOf(const Option& option);
// Names a file with the value, or a value a line, as containers pass secrets.
std::string FileVariableOf(const Option& option);

// The options whose values differ.
std::vector<const Option*> Difference(const Config& a, const Config& b);

}  // namespace gearstalk
