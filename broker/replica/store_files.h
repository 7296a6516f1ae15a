#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "broker/base/status.h"

namespace gearstalk {

// Files that options of a store name. Inline, because stores are modules. kInvalid: the message
// names the option and the file.

inline Result<std::string> ReadStoreFile(std::string_view option, const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (file && file.good()) return std::move(text).str();
  return Status(Code::kInvalid, fmt::format("{}: cannot read {}: {}", option, path,
                                            std::strerror(errno != 0 ? errno : EIO)));
}

// The first line.
inline Result<std::string> ReadPassword(std::string_view option, const std::string& path) {
  Result<std::string> text = ReadStoreFile(option, path);
  if (!text.ok()) return text;
  std::string password = text.value().substr(0, text.value().find_first_of("\r\n"));
  if (!password.empty()) return password;
  return Status(Code::kInvalid, fmt::format("{}: the first line of {} is empty", option, path));
}

// No path: no text.
inline Result<std::string> ReadPem(std::string_view option, const std::string& path) {
  if (path.empty()) return std::string();
  Result<std::string> text = ReadStoreFile(option, path);
  if (!text.ok() || text.value().find("-----BEGIN ") != std::string::npos) return text;
  return Status(Code::kInvalid, fmt::format("{}: {} is no PEM file", option, path));
}

}  // namespace gearstalk
