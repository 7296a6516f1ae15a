#include "tests/config/source.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace gearstalk {

ConfigFile::ConfigFile(std::string_view content)
    : path_(::testing::TempDir() + "gs-config-" + std::to_string(getpid()) + ".yaml") {
  std::ofstream(path_) << content;
}

ConfigFile::~ConfigFile() { unlink(path_.c_str()); }

Variable::Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }

Variable::~Variable() { unsetenv(name_); }

Result<CommandLine> Read(std::vector<std::string> arguments, const Checks& checks) {
  std::vector<const char*> argv{"gearstalkd"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return ReadCommandLine(static_cast<int>(argv.size()), argv.data(), checks);
}

Config Good(std::vector<std::string> arguments) {
  const Result<CommandLine> line = Read(std::move(arguments));
  EXPECT_TRUE(line.ok()) << line.status().message();
  if (!line.ok()) return {};
  EXPECT_EQ(line.value().settings.errors, std::vector<std::string>());
  return line.value().settings.config;
}

std::string Complaint(std::vector<std::string> arguments, const Checks& checks) {
  const Result<CommandLine> line = Read(std::move(arguments), checks);
  if (line.ok()) {
    const std::vector<std::string>& errors = line.value().settings.errors;
    return errors.empty() ? "good" : fmt::format("{}", fmt::join(errors, "\n"));
  }
  EXPECT_EQ(line.status().code(), Code::kInvalid);
  return line.status().message();
}

std::string FileComplaint(std::string_view content) {
  const ConfigFile file(content);
  std::string message = Complaint({"--config", file.path()});
  for (std::size_t at = 0; (at = message.find(file.path(), at)) != std::string::npos;) {
    message.replace(at, file.path().size(), "FILE");
  }
  return message;
}

}  // namespace gearstalk
