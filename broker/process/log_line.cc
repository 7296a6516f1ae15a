#include "broker/process/log_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "broker/base/utf8.h"

namespace gearstalk {
namespace {

void AppendAscii(std::string& out, char c) {
  const char escape = c == '"' || c == '\\' ? c
                      : c == '\n'           ? 'n'
                      : c == '\r'           ? 'r'
                      : c == '\t'           ? 't'
                                            : '\0';
  const auto code = static_cast<unsigned char>(c);
  if (escape != '\0') {
    out += '\\';
    out += escape;
  } else if (code < 0x20 || code == 0x7F) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
  } else {
    out += c;
  }
}

struct LevelNames {
  LogLevel level;
  std::string_view name;
  std::string_view gearmand;
  int priority;
};

constexpr std::array<LevelNames, 7> kLevels = {{
    {LogLevel::kTrace, "trace", "DEBUG", 7},
    {LogLevel::kDebug, "debug", "DEBUG", 7},
    {LogLevel::kInfo, "info", "INFO", 6},
    {LogLevel::kWarning, "warn", "WARNING", 4},
    {LogLevel::kError, "error", "ERROR", 3},
    {LogLevel::kCritical, "critical", "FATAL", 2},
    {LogLevel::kOff, "off", "FATAL", 7},
}};

const LevelNames& NamesOf(LogLevel level) { return kLevels[static_cast<std::size_t>(level)]; }

bool IsPlain(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7F && c != '"' && c != '=' && c != '\\';
  });
}

}  // namespace

void AppendJsonText(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t size = CharacterSize(text);
    if (size == 1) {
      AppendAscii(out, text[0]);
    } else if (size == 0) {
      out += "\\ufffd";
    } else if (const char32_t code = CodeOf(text.substr(0, size)); IsHidden(code)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<std::uint32_t>(code));
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  out += '"';
}

std::string_view NameOf(LogLevel level) { return NamesOf(level).name; }

LogLevel LogLevelNamed(std::string_view name) {
  for (const LevelNames& each : kLevels) {
    if (each.name == name) return each.level;
  }
  return LogLevel::kInfo;
}

int PriorityOf(LogLevel level) { return NamesOf(level).priority; }

std::string_view GearmandNameOf(LogLevel level) { return NamesOf(level).gearmand; }

std::string TextLine(std::string_view event, std::span<const LogField> fields) {
  std::string line(event);
  // An event that contains a client's words stays on one line.
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < ' '; }, '?');
  for (const LogField& field : fields) {
    fmt::format_to(std::back_inserter(line), " {}=", field.name());
    if (field.is_number()) {
      fmt::format_to(std::back_inserter(line), "{}", field.number());
    } else if (IsPlain(field.text())) {
      line += field.text();
    } else {
      AppendJsonText(line, field.text());
    }
  }
  return line;
}

std::string JsonMembers(std::string_view event, std::span<const LogField> fields) {
  std::string line = "\"event\":";
  AppendJsonText(line, event);
  for (const LogField& field : fields) {
    line += ',';
    AppendJsonText(line, field.name());
    line += ':';
    if (field.is_number()) {
      fmt::format_to(std::back_inserter(line), "{}", field.number());
    } else {
      AppendJsonText(line, field.text());
    }
  }
  return line;
}

}  // namespace gearstalk
