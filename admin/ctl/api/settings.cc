#include "admin/ctl/api/settings.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <cstdlib>
#include <fstream>

namespace gearstalk::ctl::api {
namespace {

constexpr const char* kPackagedSocket = "/run/gearstalkd/admin.sock";
constexpr const char* kPackagedFile = "/etc/gearstalkd/gearstalkctl.yaml";
constexpr const char* kDefaultServer = "http://127.0.0.1:11380";

Status Bad(std::string message) { return {Code::kInvalid, std::move(message)}; }

// The file to read; empty: there is none.
std::string FileToRead(const Settings& settings) {
  if (!settings.config.empty()) return settings.config;
  std::string home = Variable("XDG_CONFIG_HOME");
  if (home.empty() && !Variable("HOME").empty()) home = Variable("HOME") + "/.config";
  if (!home.empty() && access((home + "/gearstalkctl.yaml").c_str(), R_OK) == 0) {
    return home + "/gearstalkctl.yaml";
  }
  return access(kPackagedFile, R_OK) == 0 ? kPackagedFile : "";
}

Status TakeKey(const std::string& key, const std::string& value, Settings& settings) {
  std::string* field = key == "server"       ? &settings.server
                       : key == "token_file" ? &settings.token_file
                       : key == "ca_file"    ? &settings.ca_file
                                             : nullptr;
  if (field == nullptr) {
    return Bad(
        fmt::format("unknown key '{}': expected server, token_file, ca_file or servers", key));
  }
  if (field->empty()) *field = value;
  return {};
}

Status TakeMap(const YAML::Node& map, const std::string& file, Settings& settings) {
  for (const auto& pair : map) {
    const std::string key = pair.first.Scalar();
    if (key == "servers") continue;
    const int line = pair.first.Mark().line + 1;
    if (!pair.second.IsScalar())
      return Bad(fmt::format("{}:{}: {}: expected a text", file, line, key));
    if (const Status status = TakeKey(key, pair.second.Scalar(), settings); !status.ok()) {
      return Bad(fmt::format("{}:{}: {}", file, line, status.message()));
    }
  }
  return {};
}

Status ReadFile(const std::string& file, Settings& settings) {
  if (access(file.c_str(), R_OK) != 0) return Bad(fmt::format("--config: cannot read '{}'", file));
  try {
    const YAML::Node root = YAML::LoadFile(file);
    if (root.IsNull()) return {};
    if (!root.IsMap()) return Bad(fmt::format("{}:1: expected 'key: value' lines", file));
    if (settings.at.empty()) return TakeMap(root, file, settings);
    const YAML::Node chosen = root["servers"] ? root["servers"][settings.at] : YAML::Node();
    if (!chosen || !chosen.IsMap()) {
      return Bad(fmt::format("--at: {} has no server '{}'", file, settings.at));
    }
    return TakeMap(chosen, file, settings);
  } catch (const YAML::Exception& error) {
    return Bad(fmt::format("{}:{}: {}", file, error.mark.line + 1, error.msg));
  }
}

bool IsSocket(const char* path) {
  struct stat found {};
  return stat(path, &found) == 0 && S_ISSOCK(found.st_mode);
}

Status ReadToken(Settings& settings) {
  if (!settings.token.empty()) return {};
  if (settings.token_file.empty()) {
    settings.token = Variable("GEARSTALKCTL_TOKEN");
    return {};
  }
  std::ifstream in(settings.token_file);
  std::getline(in, settings.token);
  if (!in.is_open() || settings.token.empty()) {
    return Bad(fmt::format("token_file: cannot read a token from '{}'", settings.token_file));
  }
  return {};
}

}  // namespace

Status Complete(Settings& settings) {
  // A flag overrides the variable, and the variable the file.
  if (settings.at.empty()) {
    if (settings.server.empty()) settings.server = Variable("GEARSTALKCTL_SERVER");
    if (settings.token_file.empty()) settings.token = Variable("GEARSTALKCTL_TOKEN");
  }
  const std::string file = FileToRead(settings);
  if (file.empty() && !settings.at.empty()) {
    return Bad(fmt::format("--at {}: there is no configuration file", settings.at));
  }
  if (!file.empty()) GS_TRY(ReadFile(file, settings));
  if (settings.server.empty()) {
    settings.server =
        IsSocket(kPackagedSocket) ? fmt::format("unix:{}", kPackagedSocket) : kDefaultServer;
  }
  return ReadToken(settings);
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace gearstalk::ctl::api
