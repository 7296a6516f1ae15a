#include "admin/ctl/api/text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "admin/ctl/api/settings.h"

namespace gearstalk::ctl::api {
namespace {

struct Range {
  char32_t first, last;
};
// East Asian and pictures; those that stand on the character before.
constexpr Range kWide[] = {{0x1100, 0x115F}, {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                           {0xF900, 0xFAFF}, {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
                           {0xFFE0, 0xFFE6}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};
constexpr Range kCombining[] = {{0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x20D0, 0x20FF}};

template <std::size_t Count>
bool Within(const Range (&ranges)[Count], char32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

std::size_t ColumnsOf(char32_t code) {
  return Within(kCombining, code) ? 0 : Within(kWide, code) ? 2 : 1;
}

bool bold = false;

}  // namespace

std::size_t Width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const std::size_t size = CharacterSize(text);
    columns += size == 0 ? 1 : ColumnsOf(CodeOf(text.substr(0, size)));
    text.remove_prefix(std::max(size, std::size_t{1}));
  }
  return columns;
}

std::string Cut(std::string_view text, std::size_t columns) {
  if (Width(text) <= columns) return std::string(text);
  std::string cut;
  for (std::size_t used = 0; !text.empty();) {
    const std::string_view character =
        text.substr(0, std::max(CharacterSize(text), std::size_t{1}));
    used += Width(character);
    if (used + 1 > columns) break;
    cut += character;
    text.remove_prefix(character.size());
  }
  return columns == 0 ? cut : cut + "…";
}

void Say(const std::string& line) { std::fputs((line + "\n").c_str(), stdout); }

void UseColor(std::string_view when) {
  const std::string terminal = Variable("TERM");
  const bool plain = !Variable("NO_COLOR").empty() || terminal.empty() || terminal == "dumb";
  bold = when == "always" || (when == "auto" && isatty(STDOUT_FILENO) == 1 && !plain);
}

std::string Bold(std::string_view text) {
  return bold ? fmt::format("\x1b[1m{}\x1b[0m", text) : std::string(text);
}

std::string SizeText(double bytes) {
  constexpr std::string_view kUnits[] = {"B", "KB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1000;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string AgeText(double seconds) {
  if (seconds < 10) return fmt::format("{:.1f}s", std::max(seconds, 0.0));
  const auto whole = static_cast<std::uint64_t>(seconds);
  if (whole < 60) return fmt::format("{}s", whole);
  if (whole < 3'600) return fmt::format("{}m {}s", whole / 60, whole % 60);
  if (whole < 86'400) return fmt::format("{}h {}m", whole / 3'600, whole / 60 % 60);
  return fmt::format("{}d {}h", whole / 86'400, whole / 3'600 % 24);
}

}  // namespace gearstalk::ctl::api
