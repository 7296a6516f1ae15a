#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "broker/config/command_line.h"

namespace gearstalk {

// A configuration file for the time of a test.
class ConfigFile {
 public:
  explicit ConfigFile(std::string_view content);
  ~ConfigFile();
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// An environment variable for the time of a test.
class Variable {
 public:
  Variable(const char* name, const char* value);
  ~Variable();
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* const name_;
};

Result<CommandLine> Read(std::vector<std::string> arguments, const Checks& checks = {});
// The configuration of a command line that is good.
Config Good(std::vector<std::string> arguments);
// What is said about one that is not; "good" if it is.
std::string Complaint(std::vector<std::string> arguments, const Checks& checks = {});
// The same about a file with this content. "FILE" stands for its path.
std::string FileComplaint(std::string_view content);

}  // namespace gearstalk
